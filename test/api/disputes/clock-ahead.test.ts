// Payloads, evidence and rulings where the clock of the deal's chain is ahead of the wall clock, as a demo leaves a local one.
import { assert } from "chai";

import { submitDeliveryCall } from "../../../api/chain/calldata.ts";
import { loadEnv } from "../../../api/config/env.ts";
import { verifyRuling } from "../../../api/features/disputes/verification.ts";
import { readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { copyChain } from "../../fixtures/chain-copy.ts";
import type { ChainCopy } from "../../fixtures/chain-copy.ts";
import { fundedDeal, readTransaction } from "../../fixtures/deals.ts";
import type { CheckoutData } from "../../fixtures/deals.ts";
import { Court, DECIDED, DISPUTE_SETTINGS, GOOD } from "../../fixtures/disputes.ts";
import type { Disputed } from "../../fixtures/disputes.ts";
import { testVariables } from "../../fixtures/environment.ts";
import { until } from "../../fixtures/until.ts";

const NETWORK = "base-sepolia";
const LEAD_SECONDS = 3_600;
/** Seconds between two looks at a clock on a loaded machine. */
const TOLERANCE = 120;
/** After the end of the evidence. */
const OVERDUE_SECONDS = 600;

describe("a deal on a chain whose clock is ahead of the wall clock", () => {
  let court: Court;
  let copy: ChainCopy;
  /** Asks the copy of the chain for the time, and shares its database with the court. */
  let ahead: TestApi;
  let prompt: CheckoutData;
  let late: Disputed;

  /** The first payload is handed over before the chain's clock moves. The second deal is disputed then, without a payload. */
  before(async () => {
    court = await Court.open();
    prompt = await deliveredOnChain();
    await handOver(court.api, prompt);
    late = await disputedWithoutPayload();
    await court.api.endLoops();
    copy = await copyChain(NETWORK);
    await copy.chain.moveClockTo(wallTime() + LEAD_SECONDS);
    const stack = await readStack();
    const { rpcUrls } = loadEnv({ ...testVariables(stack), MONGODB_URI: stack.mongodbUri });
    ahead = await startTestApi({
      databaseName: court.api.container.connection.name,
      env: { disputes: DISPUTE_SETTINGS, rpcUrls: { ...rpcUrls, [NETWORK]: copy.chain.rpcUrl } },
    });
  });
  after(async () => {
    await ahead.stop();
    await court.close();
    await copy.close();
  });

  const wallTime = () => Math.floor(Date.now() / 1_000);
  const rule = () => ahead.container.features.disputes.rulers[NETWORK].step(new AbortController().signal);

  /** A deal whose proof is on chain and whose payload isn't handed over. */
  async function deliveredOnChain(): Promise<CheckoutData> {
    const deal = await fundedDeal(court.market, { criteria: DECIDED });
    const { chainId, escrowContract, escrowId } = deal.paymentInstructions;
    const submit = submitDeliveryCall({ chainId, escrowContract }, escrowId, `0x${"cd".repeat(32)}`);
    assert.strictEqual((await court.chain.send(court.seller.account, submit)).status, "success");
    return deal;
  }

  async function disputedWithoutPayload(): Promise<Disputed> {
    const deal = await deliveredOnChain();
    await court.openDispute(deal);
    const { transactions } = court.api.container.features.transactions.models;
    await until("the follower has seen the dispute", async () => {
      return (await transactions.findById(deal.transactionId).lean())?.status === "disputed";
    });
    const { disputeId } = await readTransaction(court.api, court.buyer, deal.transactionId);
    return { ...deal, disputeId };
  }

  async function handOver(api: TestApi, { transactionId }: CheckoutData): Promise<void> {
    const path = `/api/v1/transactions/${transactionId}/deliver`;
    const body = { responsePayload: GOOD };
    const { status, text } = await api.request("POST", path, { key: court.seller.apiKey, body });
    assert.include([200, 202], status, text);
  }

  /** The times of the delivery and of the payload in the deal's timeline, in unix seconds. */
  async function timesOf({ transactionId }: CheckoutData) {
    const { timeline } = await readTransaction(ahead, court.buyer, transactionId);
    const at = (event: string) => {
      const found = (timeline as { event: string; at: string }[]).find((entry) => entry.event === event);
      return Date.parse(found?.at ?? "") / 1_000;
    };
    return { delivery: at("DeliverySubmitted"), payload: at("PayloadReceived") };
  }

  async function isInTime({ transactionId }: CheckoutData): Promise<string> {
    const path = `/api/v1/transactions/${transactionId}/check`;
    const { body, text } = await ahead.request("POST", path, { key: court.buyer.apiKey, body: {} });
    const facts = body.data?.facts as { name: string; result: string }[] | undefined;
    const fact = facts?.find(({ name }) => name === "payload_in_time");
    assert.ok(fact, text);
    return fact.result;
  }

  async function submit(agent: TestAgent, body: object): Promise<void> {
    const path = `/api/v1/disputes/${late.disputeId}/evidence`;
    const { status, text } = await ahead.request("POST", path, { key: agent.apiKey, body });
    assert.strictEqual(status, 201, text);
  }

  it("has a payload from before in time, dated by the wall clock", async () => {
    const { payload } = await timesOf(prompt);
    assert.closeTo(payload, wallTime(), TOLERANCE);
    assert.strictEqual(await isInTime(prompt), "pass");
  });

  it("has a payload dated by the chain's clock, so that one of an hour later is late [D26]", async () => {
    await handOver(ahead, late);
    const { delivery, payload } = await timesOf(late);
    assert.closeTo(payload - wallTime(), LEAD_SECONDS, TOLERANCE);
    assert.isAbove(payload - delivery, LEAD_SECONDS - TOLERANCE);
    assert.strictEqual(await isInTime(late), "fail");
  });

  it("leaves each party a minute by the chain's clock for its next item of evidence", async () => {
    const item = { type: "specification", description: "Three words at least" };
    for (const agent of [court.buyer, court.seller]) await submit(agent, item);
    const { evidence } = (await ahead.request("GET", `/api/v1/disputes/${late.disputeId}`, { key: court.buyer.apiKey }))
      .body.data;
    const [first] = evidence as { submittedAt: string }[];
    assert.closeTo(Date.parse(first?.submittedAt ?? "") / 1_000 - wallTime(), LEAD_SECONDS, TOLERANCE);
    assert.strictEqual(await rule(), 0);
  });

  it("has its ruling overdue by the chain's clock", async () => {
    const { disputes } = ahead.container.features.disputes.models;
    const { evidenceEndsAt } = (await disputes.findById(late.disputeId).lean()) ?? {};
    const overdue = async (endsAt: number) => {
      await disputes.updateOne({ _id: late.disputeId }, { evidenceEndsAt: new Date(endsAt * 1_000) });
      return (await ahead.container.features.disputes.delays(NETWORK)).overdue;
    };
    assert.strictEqual(await overdue(wallTime() + LEAD_SECONDS - OVERDUE_SECONDS - TOLERANCE), 1);
    assert.strictEqual(await overdue(wallTime() + LEAD_SECONDS - OVERDUE_SECONDS + TOLERANCE), 0);
    await disputes.updateOne({ _id: late.disputeId }, { evidenceEndsAt });
  });

  it("is ruled by the chain's times, and the ruling can be recomputed from the records [D8] [D26]", async () => {
    for (const agent of [court.buyer, court.seller]) await submit(agent, { complete: true });
    // It is due in the next second of the chain.
    await until("the dispute is due", async () => (await rule()) === 1);
    const { chains, features } = ahead.container;
    const models = { ...features.disputes.models, ...features.transactions.models };
    const { ruling } = (await models.disputes.findById(late.disputeId).lean()) ?? {};
    const document = JSON.parse(ruling?.documentJson ?? "{}") as Record<string, unknown>;
    assert.include(document, { handover: "after_dispute", outcome: "BuyerRefund" });
    const findings = await verifyRuling(late.disputeId, { ...models, chains, evaluator: features.criteria.evaluator });
    assert.deepEqual(
      findings.filter(({ holds }) => holds === false),
      [],
    );
  });
});
