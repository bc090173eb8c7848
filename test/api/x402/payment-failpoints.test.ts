// A paid call whose process is killed at each of its writes, with each kind of proof, or stalls in the middle of it.
import { assert } from "chai";

import { listingBody, readStack } from "../../fixtures/api.ts";
import type { Answer, TestAgent } from "../../fixtures/api.ts";
import { killAtEachWrite } from "../../fixtures/failpoints.ts";
import { startFacilitator } from "../../fixtures/facilitator.ts";
import type { RunningFacilitator } from "../../fixtures/facilitator.ts";
import { faultyDatabase } from "../../fixtures/faults.ts";
import type { FaultyRoute } from "../../fixtures/faults.ts";
import {
  CALL_UNITS,
  headerOfTransfer,
  headerV1,
  headerV2,
  pay,
  signTransfer,
  startPaidApi,
} from "../../fixtures/payments.ts";
import type { PaidApi } from "../../fixtures/payments.ts";
import { routeTo } from "../../fixtures/stall.ts";
import { until } from "../../fixtures/until.ts";

const SERVICES = "/api/v1/services";

describe("a paid call whose process is killed at a write", () => {
  let route: FaultyRoute;
  let facilitator: RunningFacilitator;
  /** Goes on after a kill. */
  let survivor: PaidApi;
  /** Settles with the survivor's key, and is killed. */
  let victim: PaidApi;
  /** The same with an external facilitator. */
  let assisted: PaidApi;
  let agent: TestAgent;

  /** Another process on the survivor's database. */
  const startBeside = (mongodbUri: string, x402 = survivor.api.container.env.x402) =>
    startPaidApi({
      oneProcess: "the kills are between this process and its database",
      search: false,
      databaseName: survivor.api.container.connection.name,
      mongodbUri,
      x402,
    });
  before(async () => {
    route = await faultyDatabase((await readStack()).mongodbUri);
    facilitator = await startFacilitator("base-sepolia");
    survivor = await startPaidApi({ search: false, oneProcess: "the others share its database" });
    victim = await startBeside(route.url);
    const external = { settlementKey: undefined, facilitatorUrl: facilitator.url };
    assisted = await startBeside(route.url, { ...survivor.api.container.env.x402, ...external });
    agent = await survivor.richAgent();
    // The first payment of a key has writes of its own.
    assert.strictEqual((await create(survivor, headerV1(await signed()))).status, 201);
  });
  after(async () => {
    for (const { api } of [victim, assisted]) await api.stop();
    await survivor.close();
    await Promise.all([route.close(), facilitator.close()]);
  });

  const create = ({ api }: PaidApi, headers: Record<string, string>) =>
    api.request("POST", SERVICES, { key: agent.apiKey, body: listingBody(), headers });
  const collection = (name: string) => survivor.api.container.connection.collection(name);
  const listings = async () =>
    (await collection("listings").find({ sellerAgentId: agent.agentId }).sort({ _id: 1 }).toArray()).map(({ _id }) =>
      String(_id),
    );
  const balance = () => survivor.chain.usdcOf(agent.walletAddress);
  /** As some seconds after the kill. */
  async function endLeases(): Promise<void> {
    for (const name of ["x402_claims", "idempotency_keys"]) {
      await collection(name).updateMany({}, { $set: { leaseEndsAt: new Date(0) } });
    }
  }
  /** Repeats a call once the dead process's lease has ended. Until then no other payment is asked for. */
  async function repeatAfterKill(headers: Record<string, string>, what: string): Promise<Answer> {
    const repeat = async () => {
      const result = await create(survivor, headers);
      if (result.status !== 402) return result;
      assert.include(["proof_in_use", "settlement_pending"], result.body.details?.reason ?? result.body.code, what);
      return undefined;
    };
    const answer = await repeat();
    if (answer !== undefined) return answer;
    await endLeases();
    return until(`the proof counts: ${what}`, repeat);
  }

  const signed = () => signTransfer(survivor, agent.account);
  const proofs: Record<string, { proof: () => Promise<Record<string, string>>; killed: () => PaidApi }> = {
    "the hash of a transfer": {
      proof: async () => headerOfTransfer(await pay(survivor, agent.account), agent.walletAddress),
      killed: () => victim,
    },
    "an authorisation of version 1": { proof: async () => headerV1(await signed()), killed: () => victim },
    "an authorisation of version 2, at a facilitator": {
      proof: async () => headerV2(survivor, await signed()),
      killed: () => assisted,
    },
  };
  for (const [name, { proof, killed }] of Object.entries(proofs)) {
    it(`with ${name} is answered with the same proof, runs once and takes the money once [D36]`, async () => {
      let headers: Record<string, string> = {};
      let before: { listings: string[]; units: bigint };
      await killAtEachWrite({
        route,
        // What is stored comes before the transaction is sent, or the facilitator asked.
        beforeEffects: / x402_(?:claims|last_transactions)$/,
        async prepare() {
          before = { listings: await listings(), units: await balance() };
          headers = await proof();
        },
        work: () => create(killed(), headers),
        async finish(what) {
          const answer = await repeatAfterKill(headers, what);
          assert.strictEqual(answer.status, 201, `${what}: ${answer.text}`);
          const again = await create(survivor, headers);
          assert.deepEqual([again.status, again.body], [201, answer.body], what);
          const created = (await listings()).filter((id) => !before.listings.includes(id));
          assert.deepEqual(created, [answer.body.data.id], what);
          assert.strictEqual(before.units - (await balance()), CALL_UNITS.api, what);
          const claims = await collection("x402_claims").distinct("state", { agentId: agent.agentId });
          assert.deepEqual(claims, ["spent"], what);
        },
      });
    });
  }

  it("takes no money if it stalled until its lease ended and a repeat has been paid for [D36] [D43]", async () => {
    const direct = new URL((await readStack()).mongodbUri);
    const stalling = await routeTo(Number(direct.port));
    direct.port = String(stalling.port);
    direct.searchParams.set("directConnection", "true");
    const stalled = await startBeside(direct.href);
    const key = { "idempotency-key": "stalled" };
    const before = { listings: await listings(), units: await balance() };
    const reached = stalling.stallAt("responsePending");
    const late = create(stalled, { ...key, ...headerV1(await signed()) });
    await reached;
    await endLeases();
    const repeat = await create(survivor, { ...key, ...headerV1(await signed()) });
    assert.strictEqual(repeat.status, 201);
    stalling.resume();
    assert.strictEqual((await late).status, 402);
    assert.lengthOf(await listings(), before.listings.length + 1);
    assert.strictEqual(before.units - (await balance()), CALL_UNITS.api);
    await stalled.api.stop();
    await stalling.close();
  });

  it("still runs once if the process that takes it over can't reach the database", async () => {
    const headers = await proofs["the hash of a transfer"]?.proof();
    assert.ok(headers !== undefined);
    const before = await listings();
    // The listing is stored with the commit of its transaction.
    route.fail({ name: "commitTransaction 1", number: 1 }, "dies_after");
    await create(victim, headers).catch(() => undefined);
    await route.recover();
    const stored = (await listings()).filter((id) => !before.includes(id));
    assert.lengthOf(stored, 1);
    await endLeases();
    route.fail({ name: "find listings", number: 1 }, "refused");
    assert.strictEqual((await create(victim, headers)).status, 503);
    assert.isTrue(route.hasFailed);
    await route.recover();
    const answer = await repeatAfterKill(headers, "the database is back");
    assert.deepEqual([answer.status, answer.body.data?.id], [201, stored[0]]);
    assert.lengthOf(await listings(), before.length + 1);
  });
});
