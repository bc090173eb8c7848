// Paid calls and the worker at a node that answers in a way of its own, or not at all.
import { assert } from "chai";

import { assertError, listingBody } from "../../fixtures/api.ts";
import type { Answer, TestAgent } from "../../fixtures/api.ts";
import { startFacilitator } from "../../fixtures/facilitator.ts";
import { atNight } from "../../fixtures/nightly.ts";
import { MOST_SENDS, mostRepeatsOf, oddNodeTo, onSending, SENDING_ANSWERS, sendsOf } from "../../fixtures/odd-node.ts";
import type { OddNode } from "../../fixtures/odd-node.ts";
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
import { openChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

const SERVICES = "/api/v1/services";
const THOUSAND_USDC = 1_000_000_000n;
/** Less than the five seconds that one request to the node may take. */
const TIMEOUT_MS = 3_000;
/** Requests to the node of a payment that ends with its timeout. One that waited for ten seconds would ask more than this. */
const MOST_REQUESTS = 100;
/** How often a node that says nothing is asked the same. One that a payment waited for would be asked again, three times in all. */
const MOST_REPEATS = 2;
/** Answers that are treated as others are, so one of each kind is enough for a push. */
const SAME = new Set(["replacement transaction underpriced", "an internal error", "an error of a proxy"]);
type Version = 1 | 2;
const METHODS = ["eth_getBlockByNumber", "eth_getCode", "eth_call"] as const;
const KINDS = ["silence", "beginning"] as const;
/** What a verification asks the node, and how the node answers. Each push has all of them, but not each with each. */
const VERIFICATIONS = atNight<{ method: string; kind: (typeof KINDS)[number]; versions: Version[] }[]>(
  METHODS.flatMap((method) => KINDS.map((kind) => ({ method, kind, versions: [1, 2] }))),
  METHODS.map((method, row) => ({ method, kind: KINDS[row % 2] ?? "silence", versions: [row % 2 === 0 ? 2 : 1] })),
);
const ANSWERS = SENDING_ANSWERS.filter(({ name }) => atNight(true, !SAME.has(name)));

describe("a paid call at a node that answers in a way of its own", () => {
  let paid: PaidApi;
  let node: OddNode;
  let agent: TestAgent;

  before(async () => {
    node = await oddNodeTo((await openChain("base-sepolia")).rpcUrl);
    paid = await startPaidApi({ search: false, rpcUrl: node.url, x402: { timeoutMs: TIMEOUT_MS } });
    // The first payment of a process takes longest.
    agent = await paid.richAgent();
    await counts(await signed(2));
  });
  beforeEach(async () => {
    agent = await paid.richAgent();
  });
  afterEach(() => {
    node.recover();
  });
  after(async () => {
    await paid.close();
    await node.close();
  });

  const create = (headers: Record<string, string>): Promise<Answer> =>
    paid.api.request("POST", SERVICES, { key: agent.apiKey, body: listingBody(), headers });
  /** The answer to a call, and what the node was asked for it. */
  async function asked<T>(call: () => Promise<T>) {
    [node.seen, node.questions] = [[], []];
    const answer = await call();
    return { answer, requests: node.seen.length, sends: sendsOf(node), repeats: mostRepeatsOf(node) };
  }
  /** Repeats the call until it is answered: on a loaded machine the short timeout may be over once more. */
  const counts = (proof: Record<string, string>) =>
    until("the payment counts", async () => (await create(proof)).status === 201);
  const finish = () => paid.api.container.features.x402.finish();
  const spent = async () => THOUSAND_USDC - (await paid.chain.usdcOf(agent.walletAddress));
  const claims = () => paid.api.container.connection.collection("x402_claims");
  const signed = async (version: Version): Promise<Record<string, string>> => {
    const payment = await signTransfer(paid, agent.account);
    return version === 1 ? headerV1(payment) : headerV2(paid, payment);
  };

  for (const [index, { name, oddity }] of ANSWERS.entries()) {
    it(`to a settlement (${name}): is answered in time, the worker's look ends, and the money moves once [D36] [D49]`, async () => {
      node.odd = onSending(oddity);
      const proof = await signed(index % 2 === 0 ? 1 : 2);
      const { answer, requests, sends } = await asked(() => create(proof));
      assert.isAtMost(requests, MOST_REQUESTS);
      assert.isAtMost(sends, MOST_SENDS);
      if (oddity.kind === "error" && oddity.isDone === true) {
        if (answer.status !== 201) await counts(proof);
        assert.strictEqual(await spent(), CALL_UNITS.api);
        return;
      }
      assert.deepEqual([answer.status, answer.body.code], [402, "settlement_pending"], answer.text);
      assert.isUndefined(answer.body.accepts, "no other payment is asked for");
      // On a loaded machine the time may be over before anything is sent.
      if (sends > 0) assert.match(answer.body.details.txHash, /^0x[0-9a-f]{64}$/);

      const look = await asked(finish);
      assert.isAtMost(look.requests, MOST_REQUESTS);
      assert.isAtMost(look.sends, MOST_SENDS);
      assert.strictEqual((await claims().findOne({ agentId: agent.agentId }))?.["state"], "settling");
      assert.strictEqual(await spent(), 0n);

      node.recover();
      await until("the worker settles it", async () => {
        await finish();
        return (await spent()) > 0n;
      });
      await counts(proof);
      assert.strictEqual(await spent(), CALL_UNITS.api);
    });
  }

  for (const { method, kind, versions } of VERIFICATIONS) {
    it(`to its verification (${kind} for ${method}): is answered 503 in time, and nothing is reserved [D36]`, async () => {
      for (const version of versions) {
        node.odd = (called) => (called === method ? { kind } : undefined);
        const proof = await signed(version);
        const { answer, repeats } = await asked(() => create(proof));
        assertError(answer, 503, "chain_unavailable");
        assert.isAtMost(repeats, MOST_REPEATS);
        const { agentId } = agent;
        assert.strictEqual(await claims().countDocuments({ agentId, state: { $ne: "spent" } }), 0);
        node.recover();
        await counts(proof);
      }
    });
  }

  it("to the proof of a transfer (silence): is answered 503 in time, and the transfer still pays", async () => {
    const proof = headerOfTransfer(await pay(paid, agent.account), agent.walletAddress);
    node.odd = () => ({ kind: "silence" });
    const { answer, repeats } = await asked(() => create(proof));
    assertError(answer, 503, "chain_unavailable");
    assert.isAtMost(repeats, MOST_REPEATS);
    node.recover();
    // The same question to the node isn't asked again until the first has failed.
    await counts(proof);
  });

  it("to the search for the settlement (it has the block's state, and not its logs yet): is pending, and still counts", async () => {
    node.odd = (method) => (method === "eth_getLogs" ? { kind: "result", result: [] } : undefined);
    const proof = await signed(2);
    for (let call = 1; call <= 2; call += 1) {
      const { answer, requests } = await asked(() => create(proof));
      assert.deepEqual([answer.status, answer.body.code], [402, "settlement_pending"], answer.text);
      assert.isAtMost(requests, MOST_REQUESTS);
    }
    await finish();
    assert.strictEqual(await spent(), CALL_UNITS.api);
    node.odd = undefined;
    await counts(proof);
    assert.strictEqual(await spent(), CALL_UNITS.api);
  });

  it("to everything after the call (silence): is pending in time, though nothing was sent [D49]", async () => {
    // The estimate comes after the call that is paid for.
    let isSilent = false;
    node.odd = (method) => {
      if (!isSilent && /^eth_(fillTransaction|estimateGas)$/.test(method)) {
        isSilent = true;
        node.questions = [];
      }
      return isSilent ? { kind: "silence" } : undefined;
    };
    const proof = await signed(2);
    const { answer, repeats } = await asked(() => create(proof));
    assert.deepEqual([answer.status, answer.body.code, answer.body.details], [402, "settlement_pending", {}]);
    assert.isAtMost(repeats, MOST_REPEATS);
    node.recover();
    await counts(proof);
    assert.strictEqual(await spent(), CALL_UNITS.api);
  });
});

describe("a paid call at a facilitator that doesn't answer", () => {
  it("is answered in time: 503 for the verification, pending for the settlement [D49]", async () => {
    const facilitator = await startFacilitator("base-sepolia");
    const paid = await startPaidApi({
      search: false,
      x402: { facilitatorUrl: facilitator.url, timeoutMs: TIMEOUT_MS },
    });
    try {
      const agent = await paid.richAgent();
      for (const [path, status, code] of [
        ["/verify", 503, "facilitator_unavailable"],
        ["/settle", 402, "settlement_pending"],
      ] as const) {
        facilitator.intercept = (asked) => (asked === path ? new Promise(() => undefined) : Promise.resolve(undefined));
        const headers = headerV2(paid, await signTransfer(paid, agent.account));
        const answer = await paid.api.request("POST", SERVICES, { key: agent.apiKey, body: listingBody(), headers });
        assert.deepEqual([answer.status, answer.body.code], [status, code], answer.text);
        assert.strictEqual(facilitator.seen.filter((asked) => asked === path).length, 1);
        facilitator.seen = [];
      }
    } finally {
      await paid.close();
      await facilitator.close();
    }
  });
});
