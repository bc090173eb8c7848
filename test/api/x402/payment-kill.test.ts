// API processes that are killed, or stall, between any two steps of a payment, with each kind of proof.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import type { Connection } from "mongoose";
import type { PrivateKeyAccount } from "viem/accounts";

import { connectDatabase } from "../../../api/db/connection.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { listingBody, readStack } from "../../fixtures/api.ts";
import { startApiProcess, startBehindDatabaseRoute } from "../../fixtures/api-process.ts";
import type { ApiProcess } from "../../fixtures/api-process.ts";
import { startFacilitator } from "../../fixtures/facilitator.ts";
import type { RunningFacilitator } from "../../fixtures/facilitator.ts";
import {
  CALL_UNITS,
  headerOfTransfer,
  headerV1,
  headerV2,
  pay,
  paymentSettings,
  signTransfer,
} from "../../fixtures/payments.ts";
import { registrationBody } from "../../fixtures/sign-in.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

const log = createLogger({ level: "silent", name: "test" });
const THOUSAND_USDC = 1_000_000_000n;

const PROOFS = ["transfer", "v1", "v2"] as const;
type ProofKind = (typeof PROOFS)[number];
const SIGNED = ["v1", "v2"] as const satisfies readonly ProofKind[];

/** A moment at which the process is killed. */
interface Moment {
  name: string;
  /** The proofs whose way has this step. A transfer is on chain before its call runs, so nothing is settled then. */
  proofs: readonly ProofKind[];
  /** Text of a message to the database, or of the settlement. `after`: it has arrived, and its answer hasn't. */
  at: { message: string; after?: true } | { settlement: "before" | "after" };
}

/** The state that marks a payment, as BSON has it: not a field's name. */
const SPENT = "spent\0";
/** Every step of a payment: reserve, run, keep the answer, settle, mark as spent, answer. */
const MOMENTS: readonly Moment[] = [
  { name: "before the payment is reserved", proofs: PROOFS, at: { message: "clm_" } },
  { name: "once the payment is reserved", proofs: PROOFS, at: { message: "clm_", after: true } },
  { name: "before the call's effect", proofs: PROOFS, at: { message: "Invoice reconciliation" } },
  { name: "after the call's effect", proofs: PROOFS, at: { message: "Invoice reconciliation", after: true } },
  { name: "before the answer is kept", proofs: PROOFS, at: { message: "x402_answers" } },
  { name: "once the answer is kept", proofs: PROOFS, at: { message: "x402_answers", after: true } },
  { name: "before the call is noted as answered", proofs: SIGNED, at: { message: "responsePending" } },
  { name: "before the settlement", proofs: SIGNED, at: { settlement: "before" } },
  { name: "after the settlement, before it is known", proofs: SIGNED, at: { settlement: "after" } },
  { name: "before the payment is marked as spent", proofs: PROOFS, at: { message: SPENT } },
  {
    name: "once the payment is marked as spent, before the answer",
    proofs: PROOFS,
    at: { message: SPENT, after: true },
  },
];
/** Processes that start at the same time. */
const AT_ONCE = 4;
/** A lease takes a quarter of a minute, and a machine may be loaded many times over. */
const PATIENCE_MS = 180_000;

interface CreateBody {
  code?: string;
  data?: { id: string };
  details?: { reason?: string };
}

describe("a paid call whose process is killed", () => {
  const databaseName = `test_payment_${randomBytes(6).toString("hex")}`;
  const payTo = paymentSettings("base-sepolia").payTo ?? "0x";
  const processes: ApiProcess[] = [];
  let connection: Connection;
  let chain: TestChain;
  let usdc: `0x${string}`;
  /** Healthy: the one that the API uses after a kill. */
  let healthy: RunningFacilitator;
  let survivor: ApiProcess;

  before(async () => {
    connection = await connectDatabase((await readStack()).mongodbUri, log, databaseName);
    chain = await openChain("base-sepolia");
    usdc = chain.deployment.tokens.find(({ symbol }) => symbol === "USDC")?.address ?? "0x";
    healthy = await startFacilitator("base-sepolia");
    survivor = await start({ X402_FACILITATOR_URL: healthy.url });
  });
  after(async () => {
    for (const api of processes) api.kill();
    await healthy.close();
    await connection.dropDatabase();
    await connection.close();
  });

  async function start(variables: Record<string, string>): Promise<ApiProcess> {
    const api = await startApiProcess(databaseName, { X402_PAY_TO: payTo, BUDGET_API: "1", ...variables });
    processes.push(api);
    return api;
  }

  /** A registered agent with money and without budget. */
  async function brokeAgent() {
    const { account, body } = await registrationBody();
    const headers = { "content-type": "application/json" };
    const url = `${survivor.url}/api/v1/auth/register`;
    const registered = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
    const { agentId, apiKey } = (await registered.json()) as { agentId: string; apiKey: string };
    await chain.endow(account, { usdc: THOUSAND_USDC });
    const used = await fetch(`${survivor.url}/api/v1/services`, { headers: { "x-api-key": apiKey } });
    assert.strictEqual(used.status, 200);
    return { agentId, apiKey, account };
  }

  async function create(url: string, apiKey: string, proof: Record<string, string>) {
    const headers = { "content-type": "application/json", "x-api-key": apiKey, ...proof };
    const body = JSON.stringify(listingBody());
    const answer = await fetch(`${url}/api/v1/services`, { method: "POST", headers, body });
    return { status: answer.status, body: (await answer.json()) as CreateBody };
  }

  /** Starts a process that announces the moment and gets no further. */
  async function stalled(moment: Moment) {
    const { at } = moment;
    if ("settlement" in at) {
      const facilitator = await startFacilitator("base-sepolia");
      const { promise: reached, resolve } = Promise.withResolvers<undefined>();
      facilitator.intercept = async (path, settle) => {
        if (path !== "/settle") return undefined;
        if (at.settlement === "after") await settle();
        resolve(undefined);
        return new Promise(() => undefined);
      };
      const api = await start({ X402_FACILITATOR_URL: facilitator.url });
      return { api, reached: (): Promise<unknown> => reached, close: () => facilitator.close() };
    }
    const variables = { X402_PAY_TO: payTo, BUDGET_API: "1", X402_FACILITATOR_URL: healthy.url };
    const { api, route } = await startBehindDatabaseRoute(databaseName, variables);
    processes.push(api);
    const reached = () => (at.after === true ? route.stallAfter(at.message) : route.stallAt(at.message));
    return { api, reached, close: () => route.close() };
  }

  async function endLeases(agentId: string): Promise<void> {
    await connection.collection("x402_claims").updateMany({ agentId }, { $set: { leaseEndsAt: new Date(0) } });
  }

  /** Waits at the database, so that the API has nothing to do meanwhile. */
  async function leasesEnd(agentId: string): Promise<void> {
    const held = { agentId, $expr: { $gt: ["$leaseEndsAt", "$$NOW"] } };
    const count = () => connection.collection("x402_claims").countDocuments(held);
    await until("the dead process's lease has ended", async () => (await count()) === 0, PATIENCE_MS);
  }

  async function proofOf(kind: ProofKind, account: PrivateKeyAccount): Promise<Record<string, string>> {
    const shop = { chain, usdc, payTo };
    if (kind === "transfer") return headerOfTransfer(await pay(shop, account), account.address);
    const payment = await signTransfer(shop, account);
    return kind === "v1" ? headerV1(payment) : headerV2(shop, payment);
  }

  /**
   * Kills the process of a paid call and repeats the call with the same proof.
   * @param endsLease whether the dead process's lease ends with it; otherwise it runs out by itself
   */
  async function killAt(moment: Moment, kind: ProofKind, endsLease: boolean): Promise<void> {
    const name = `${kind}, ${moment.name}`;
    const { agentId, apiKey, account } = await brokeAgent();
    const proof = await proofOf(kind, account);
    const { api, reached, close } = await stalled(moment);
    const arrived = reached();
    const lost = create(api.url, apiKey, proof);
    const tooEarly = lost.then(({ status, body }) => {
      throw new Error(`${name}: answered ${status} ${JSON.stringify(body)} before that`);
    });
    await Promise.race([arrived, tooEarly]);
    api.kill();
    await assert.isRejected(lost);
    await close();
    // Another process may only take over once the dead one's lease has ended. Until then no other payment is asked for.
    const repeat = async () => {
      const result = await create(survivor.url, apiKey, proof);
      if (result.status !== 402) return result;
      assert.include(["proof_in_use", "settlement_pending"], result.body.details?.reason ?? result.body.code, name);
      return undefined;
    };
    let answer = await repeat();
    if (answer === undefined) {
      if (endsLease) await endLeases(agentId);
      else await leasesEnd(agentId);
      answer = await until(`the proof counts: ${name}`, repeat, PATIENCE_MS);
    }
    assert.strictEqual(answer.status, 201, name);
    const again = await create(survivor.url, apiKey, proof);
    assert.deepEqual([again.status, again.body], [201, answer.body], name);

    const listings = await connection.collection("listings").find({ sellerAgentId: agentId }).toArray();
    assert.deepEqual(
      listings.map(({ _id }) => String(_id)),
      [answer.body.data?.id],
      name,
    );
    assert.strictEqual(THOUSAND_USDC - (await chain.usdcOf(account.address)), CALL_UNITS.api, name);
    const claims = await connection.collection("x402_claims").find({ agentId }).toArray();
    assert.deepEqual(
      claims.map(({ state }) => String(state)),
      ["spent"],
      name,
    );
  }

  for (const kind of PROOFS) {
    const moments = MOMENTS.filter(({ proofs }) => proofs.includes(kind));
    for (let first = 0; first < moments.length; first += AT_ONCE) {
      const some = moments.slice(first, first + AT_ONCE);
      const names = some.map(({ name }) => name).join("; ");
      it(`${kind}: is answered with the same proof, runs once and takes the money once. Killed ${names} [D36]`, async () => {
        await Promise.all(some.map((moment) => killAt(moment, kind, first > 0)));
      });
    }
  }
});
