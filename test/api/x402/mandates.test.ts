// Paid calls and packs of a key with a mandate (decision 57).
import { assert } from "chai";

import { mandateModel } from "../../../api/features/mandates/model.ts";
import { listingBody, readStack } from "../../fixtures/api.ts";
import type { TestAgent } from "../../fixtures/api.ts";
import { killAtEachWrite } from "../../fixtures/failpoints.ts";
import { faultyDatabase } from "../../fixtures/faults.ts";
import type { FaultyRoute } from "../../fixtures/faults.ts";
import { withMandate } from "../../fixtures/mandates.ts";
import type { MandateFields } from "../../fixtures/mandates.ts";
import { CALL_UNITS, headerOfTransfer, headerV1, pay, signTransfer, startPaidApi } from "../../fixtures/payments.ts";
import type { PaidApi } from "../../fixtures/payments.ts";

const SERVICES = "/api/v1/services";
const API_PACK = "/api/v1/x402/packs/api-10";
const PACK_UNITS = 10n * CALL_UNITS.api;
const SCOPES = ["read", "buy", "sell"];

describe("a payment of a key with a mandate", () => {
  let route: FaultyRoute;
  let paid: PaidApi;
  /** Its process is killed. */
  let victim: PaidApi;
  let agent: TestAgent;

  before(async () => {
    route = await faultyDatabase((await readStack()).mongodbUri);
    paid = await startPaidApi({ search: false, oneProcess: "the other shares its database" });
    victim = await startPaidApi({
      oneProcess: "the kills are between this process and its database",
      search: false,
      databaseName: paid.api.container.connection.name,
      mongodbUri: route.url,
      x402: paid.api.container.env.x402,
    });
    agent = await paid.richAgent();
  });
  after(async () => {
    await victim.api.stop();
    await paid.close();
    await route.close();
  });

  const keyWith = (terms: Partial<MandateFields>) => withMandate(paid.api, agent, { scopes: SCOPES, ...terms });
  const signed = async (value = CALL_UNITS.api) => headerV1(await signTransfer(paid, agent.account, { value }));
  const read = ({ apiKey: key }: TestAgent, headers: Record<string, string> = {}, path = SERVICES) =>
    paid.api.request("GET", path, { key, headers });
  const buyPack = ({ apiKey: key }: TestAgent, headers: Record<string, string> = {}) =>
    paid.api.request("POST", API_PACK, { key, body: {}, headers });
  const spentOf = async ({ keyId }: { keyId: string }) =>
    BigInt((await mandateModel(paid.api.container.connection).findById(keyId))?.spentUsd ?? "0");
  const claims = () => paid.api.container.connection.collection("x402_claims");
  const balance = () => paid.chain.usdcOf(agent.walletAddress);

  function assertExceeded(answer: Awaited<ReturnType<typeof read>>, bound: string): void {
    const { status, body } = answer;
    assert.deepEqual([status, body.code, body.details?.bound], [403, "mandate_exceeded", bound], answer.text);
  }

  it("counts for calls and packs, and above a bound it is neither asked for nor taken", async () => {
    const key = await keyWith({ totalUsd: "0.0012" });
    assert.strictEqual((await read(key)).status, 402);
    assert.strictEqual((await read(key, await signed())).status, 200);
    assert.strictEqual(await spentOf(key), CALL_UNITS.api);
    const packed = await buyPack(key, await signed(PACK_UNITS));
    assert.strictEqual(packed.status, 200, packed.text);
    assert.strictEqual(await spentOf(key), CALL_UNITS.api + PACK_UNITS);

    const [before, stored] = [await balance(), await claims().countDocuments()];
    assertExceeded(await buyPack(key), "totalUsd");
    assertExceeded(await buyPack(key, await signed(PACK_UNITS)), "totalUsd");
    assert.deepEqual([await balance(), await claims().countDocuments()], [before, stored]);
    // What is paid for by the pack costs nothing.
    assert.strictEqual((await read(key)).status, 200);
  });

  it("is bounded by deal, by day and by network", async () => {
    for (const [terms, bound] of [
      [{ perDealUsd: "0.000099" }, "perDealUsd"],
      [{ perDayUsd: "0" }, "perDayUsd"],
      [{ networks: ["base"] }, "networks"],
    ] as const) {
      const key = await keyWith({ ...terms } as Partial<MandateFields>);
      assertExceeded(await buyPack(key), bound);
      assertExceeded(await buyPack(key, await signed(PACK_UNITS)), bound);
    }
  });

  it("leaves a transfer that was refused to a key that may use it", async () => {
    const key = await keyWith({ totalUsd: "0" });
    const proof = headerOfTransfer(await pay(paid, agent.account, { value: PACK_UNITS }), agent.walletAddress);
    assertExceeded(await buyPack(key, proof), "totalUsd");
    assert.strictEqual((await buyPack(agent, proof)).status, 200);
    assert.strictEqual(await spentOf(key), 0n);
  });

  it("is released if its call is refused", async () => {
    const key = await keyWith({});
    const usedUp = await paid.richAgent();
    const own = await withMandate(paid.api, usedUp, { scopes: SCOPES });
    const header = headerV1(await signTransfer(paid, usedUp.account));
    assert.strictEqual((await read(own, header, `${SERVICES}/lst_unknown`)).status, 404);
    assert.strictEqual(await spentOf(own), 0n);
    assert.strictEqual((await read(own, header)).status, 200, "the same payment pays for another call");
    assert.strictEqual(await spentOf(own), CALL_UNITS.api);
    assert.strictEqual(await spentOf(key), 0n);
  });

  it("raced ten times against room for three, is taken three times", async () => {
    const racer = await paid.richAgent();
    const key = await withMandate(paid.api, racer, { scopes: SCOPES, perDayUsd: "0.000399" });
    const headers = [];
    for (let n = 0; n < 10; n += 1) headers.push(headerV1(await signTransfer(paid, racer.account)));
    const before = await paid.chain.usdcOf(racer.walletAddress);
    const answers = await Promise.all(headers.map((header) => read(key, header)));
    const statuses = answers.map(({ status }) => status);
    assert.deepEqual(statuses.toSorted(), [...Array<number>(3).fill(200), ...Array<number>(7).fill(403)]);
    assert.strictEqual(before - (await paid.chain.usdcOf(racer.walletAddress)), 3n * CALL_UNITS.api);
    assert.strictEqual(await spentOf(key), 3n * CALL_UNITS.api);
  });

  it("whose process is killed at any write counts once in the end, and never without its claim", async () => {
    const payer = await paid.richAgent();
    const key = await withMandate(paid.api, payer, { scopes: SCOPES });
    const counted = async () => {
      const all = await claims().find({ "mandate.id": key.keyId, "mandate.counted": true }).toArray();
      return all.reduce((sum, claim) => sum + BigInt(claim["amount"]), 0n);
    };
    const create = (api: PaidApi, headers: Record<string, string>) =>
      api.api.request("POST", SERVICES, { key: key.apiKey, body: listingBody(), headers });
    let headers: Record<string, string> = {};
    let served = 0n;
    await killAtEachWrite({
      route,
      async prepare() {
        headers = headerV1(await signTransfer(paid, payer.account));
      },
      work: () => create(victim, headers),
      async finish(what) {
        assert.strictEqual(await spentOf(key), await counted(), what);
        await claims().updateMany({}, { $set: { leaseEndsAt: new Date(0) } });
        // The worker takes back what a killed reservation counts; a repeat counts it again.
        await paid.api.container.features.x402.finish();
        assert.strictEqual(await spentOf(key), await counted(), what);
        assert.strictEqual(await claims().countDocuments({ state: "reserved", "mandate.counted": true }), 0, what);
        const answer = await create(paid, headers);
        assert.strictEqual(answer.status, 201, `${what}: ${answer.text}`);
        served += CALL_UNITS.api;
        assert.deepEqual([await spentOf(key), await counted()], [served, served], what);
      },
    });
  });

  it("that another key of the agent goes on with counts nothing any more", async () => {
    const payer = await paid.richAgent();
    const key = await withMandate(paid.api, payer, { scopes: SCOPES });
    const headers = headerV1(await signTransfer(paid, payer.account));
    const create = ({ api }: PaidApi, { apiKey }: TestAgent) =>
      api.request("POST", SERVICES, { key: apiKey, body: listingBody(), headers });
    route.fail({ name: "insert listings", number: 1 }, "dies");
    await create(victim, key).catch(() => undefined);
    await route.recover();
    assert.strictEqual(await spentOf(key), CALL_UNITS.api);
    await claims().updateMany({}, { $set: { leaseEndsAt: new Date(0) } });
    assert.strictEqual((await create(paid, payer)).status, 201);
    assert.strictEqual(await spentOf(key), 0n);
  });
});
