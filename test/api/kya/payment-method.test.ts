import { assert } from "chai";
import { encodeFunctionData, erc20Abi } from "viem";

import { signPaymentMethod } from "../../../sdk/src/index.ts";
import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { ONE_USDC } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { paymentMethodBody } from "../../fixtures/statements.ts";
import type { StatementWishes } from "../../fixtures/statements.ts";

const PATH = "/api/v1/agents/kya/payment-method";
const SMALLEST_DEPOSIT = 10_000n;

describe("linking a payment method", () => {
  let api: TestApi;
  let chain: TestChain;
  let mainnet: TestChain;
  /** Holds USDC on both networks. */
  let agent: TestAgent;

  before(async () => {
    api = await startTestApi();
    [chain, mainnet] = await Promise.all([openChain("base-sepolia"), openChain("base")]);
  });
  beforeEach(async () => {
    agent = await api.registerAgent();
    await chain.endow(agent.account, { usdc: ONE_USDC });
  });
  after(() => api.close());

  const send = (body: unknown, by = agent): Promise<Answer> => api.request("POST", PATH, { key: by.apiKey, body });
  const link = async (wishes: StatementWishes = {}, on = chain) => send(await paymentMethodBody(agent, on, wishes));
  const levelOf = async ({ agentId }: TestAgent): Promise<unknown> =>
    (await api.container.features.agents.models.agents.findById(agentId).lean())?.kyaLevel;
  const changesOf = ({ agentId }: TestAgent) =>
    api.container.features.kya.models.changes.find({ agentId }).sort({ _id: 1 }).lean();

  describe("happy", () => {
    it("[S2.8.03] [D32] gives level 2, Verified, to a wallet that holds an escrow token and signs a statement", async () => {
      assert.strictEqual(await levelOf(agent), 0, "a new agent is level 0");
      const answer = await link();
      assert.deepEqual(answer.body, {
        success: true,
        data: { agentId: agent.agentId, kya: { level: 2, name: "Verified", maxJobValueUsd: 10_000 } },
      });
      assert.strictEqual(await levelOf(agent), 2);
      const [change, ...others] = await changesOf(agent);
      assert.deepEqual([change?.from, change?.to, change?.cause, others.length], [0, 2, "payment_method", 0]);
    });

    it("accepts what the client package signs", async () => {
      const { deployment } = chain;
      const token = deployment.tokens[0]?.address;
      assert.ok(token !== undefined);
      const method = { agentId: agent.agentId, network: chain.network, token, escrowContract: deployment.escrow };
      const answer = await send(await signPaymentMethod(chain.walletOf(agent.account), method));
      assert.strictEqual(answer.status, 200, answer.text);
    });

    it("[D32] is enough when the wallet has allowed the smallest deposit instead of holding it", async () => {
      const poor = await api.registerAgent();
      await mainnet.endow(poor.account);
      const usdc = mainnet.deployment.tokens.find(({ symbol }) => symbol === "USDC")?.address;
      assert.ok(usdc !== undefined);
      const allow = async (units: bigint) => {
        const args = [mainnet.deployment.escrow, units] as const;
        const data = encodeFunctionData({ abi: erc20Abi, functionName: "approve", args });
        await mainnet.send(poor.account, { to: usdc, data });
      };
      await allow(SMALLEST_DEPOSIT - 1n);
      assertError(await send(await paymentMethodBody(poor, mainnet), poor), 409, "payment_method_empty");
      await allow(SMALLEST_DEPOSIT);
      assert.strictEqual((await send(await paymentMethodBody(poor, mainnet), poor)).status, 200);
    });

    it("never lowers a level: an agent of level 3 stays there", async () => {
      await api.container.features.agents.models.agents.updateOne({ _id: agent.agentId }, { kyaLevel: 3 });
      assert.strictEqual((await link()).body.data.kya.level, 3);
      assert.strictEqual(await levelOf(agent), 3);
    });
  });

  describe("errors", () => {
    it("requires the smallest deposit: one unit less is 409, the deposit itself is enough", async () => {
      const owner = await api.registerAgent();
      await chain.endow(owner.account, { usdc: SMALLEST_DEPOSIT - 1n });
      const refused = await send(await paymentMethodBody(owner, chain), owner);
      assertError(refused, 409, "payment_method_empty");
      assert.deepEqual(
        [refused.body.details.balance, refused.body.details.allowance, refused.body.details.required],
        ["9999", "0", "10000"],
      );
      await chain.endow(owner.account, { usdc: 1n });
      assert.strictEqual((await send(await paymentMethodBody(owner, chain), owner)).status, 200);
    });

    it("takes a deadline after now and at most an hour ahead", async () => {
      const now = Math.floor(Date.now() / 1_000);
      for (const deadline of [0, now - 1, now + 3_660]) {
        assertInvalid(await link({ fields: { deadline } }), "body.deadline");
      }
      assert.strictEqual((await link({ fields: { deadline: now + 3_540 } })).status, 200);
    });

    it("refuses a token that isn't an escrow token of the network", async () => {
      const weth = mainnet.deployment.tokens.find(({ symbol }) => symbol === "WETH")?.address;
      assert.ok(weth !== undefined);
      assertError(await link({ fields: { token: weth } }), 422, "payment_method_not_supported");
    });

    it("names every field that is missing or malformed", async () => {
      assertInvalid(await send({}), "body.network", "body.token", "body.nonce", "body.deadline", "body.signature");
      const body = await paymentMethodBody(agent, chain);
      assertInvalid(await send({ ...body, nonce: "0x12", extra: 1 }), "body.nonce", "body.extra");
    });
  });

  describe("security", () => {
    const faults: Record<string, () => StatementWishes | Promise<StatementWishes>> = {
      "another agent": () => ({ signed: { agentId: "agt_other" } }),
      "another wallet": () => ({ signed: { wallet: chain.deployment.escrow } }),
      "another network": () => ({ signed: { network: "base" } }),
      "another nonce": () => ({ signed: { nonce: `0x${"00".repeat(32)}` } }),
      "another deadline": () => ({ signed: { deadline: 1 } }),
      "another chain": () => ({ domain: { chainId: 1 } }),
      "another contract": () => ({ domain: { verifyingContract: chain.deployment.score } }),
      "another application": () => ({ domain: { name: "Another" } }),
      "another signer": async () => ({ signer: await api.registerAgent() }),
    };
    for (const [what, fault] of Object.entries(faults)) {
      it(`refuses a statement for ${what}`, async () => {
        assertError(await link(await fault()), 400, "signature_invalid");
        assert.strictEqual(await levelOf(agent), 0);
      });
    }

    it("refuses a signature that no key can have made", async () => {
      const body = await paymentMethodBody(agent, chain);
      assertError(await send({ ...body, signature: `0x${"00".repeat(65)}` }), 400, "signature_invalid");
    });

    it("accepts a statement once, also when it is sent several times at once", async () => {
      const body = await paymentMethodBody(agent, chain);
      const answers = await Promise.all(Array.from({ length: 5 }, () => send(body)));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409, 409]);
      assertError(await send(body), 409, "nonce_already_used");
      assert.strictEqual((await changesOf(agent)).length, 1);
    });

    it("refuses the statement of another agent's wallet", async () => {
      const thief = await api.registerAgent();
      const body = await paymentMethodBody(agent, chain);
      assertError(await send(body, thief), 400, "signature_invalid");
      assert.strictEqual(await levelOf(thief), 0);
    });

    it("needs a key", async () => {
      const body = await paymentMethodBody(agent, chain);
      assertError(await api.request("POST", PATH, { body }), 401, "invalid_api_key");
    });
  });
});
