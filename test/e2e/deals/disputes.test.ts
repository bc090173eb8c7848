// Disputes from the chain event to the payout, with each outcome: this file moves the chain's clock.
import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { assert } from "chai";
import { keccak256 } from "viem";
import { privateKeyToAccount } from "viem/accounts";

import { roleAccount } from "../../../scripts/local/facts.ts";
import { resolverAbi } from "../../../sdk/src/index.ts";
import type { Deal, Registration } from "../../../sdk/src/index.ts";
import { readStack } from "../../fixtures/api.ts";
import { AS_ADMIN, networkVariables } from "../../fixtures/environment.ts";
import { fundedDeal, openFullStack, openShop, PATIENT } from "../../fixtures/full-stack.ts";
import type { FullStack, Shop } from "../../fixtures/full-stack.ts";
import { tokenFlows } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

const run = promisify(execFile);

const CRITERIA = {
  schema: { type: "object", required: ["summary", "risks"], properties: { risks: { type: "array", minItems: 2 } } },
  checks: ["cel: words(result.summary) >= 4"],
};
const GOOD = { summary: "Two risks were found.", risks: ["thin liquidity", "single oracle"] };
const POOR = { summary: "Looks fine to me.", risks: [] };
const TIMEOUT_SECONDS = 30 * 86_400;

describe("a disputed deal", () => {
  let stack: FullStack;
  before(async () => {
    stack = await openFullStack();
  });

  const scoreOf = async ({ walletAddress }: Registration) => (await stack.market.score(walletAddress)).onChainScore;
  const scoresOf = async ({ buyer, seller }: Shop) => [await scoreOf(buyer), await scoreOf(seller)];

  /** A deal that its buyer has disputed; without a payload the seller has only committed to one. */
  async function disputed(shop: Shop, payload?: Record<string, unknown>): Promise<{ deal: Deal; job: Deal }> {
    const { deal, job } = await fundedDeal(shop, { criteria: CRITERIA });
    if (payload === undefined) await job.escrow.submitDelivery(deal.terms.escrowId, keccak256("0x"));
    else await job.deliver(payload, PATIENT);
    await deal.openDispute(PATIENT);
    return { deal, job };
  }

  /** What the resolution paid to a wallet. */
  async function paidTo({ walletAddress }: Registration, txHash: string | null): Promise<bigint> {
    const receipt = await stack.chain.client.getTransactionReceipt({ hash: txHash as `0x${string}` });
    return tokenFlows(receipt).get(walletAddress) ?? 0n;
  }

  it("[S3.2.27] [S3.2.33] [S1.06] is refunded when the result breaks the criteria", async () => {
    const shop = await openShop(stack);
    const { deal, job } = await disputed(shop, POOR);
    await deal.dispute.complain({ reason: "It names no risks", evidence: [] });
    await job.dispute.submitEvidence({ type: "delivery_proof", description: "We sent it in time", attachments: [] });
    await Promise.all([deal.dispute.complete(), job.dispute.complete()]);
    const resolved = await deal.dispute.waitForResolution(PATIENT);
    assert.include(resolved, { outcome: "BuyerRefund", resolvedBy: "system", resolutionMethod: "ruling" });
    assert.strictEqual(await paidTo(shop.buyer, resolved.resolutionTxHash), deal.terms.refundableAmount);
    assert.deepEqual(await scoresOf(shop), [1, -3]);

    const { document, rationaleHash, onChain } = await job.dispute.ruling();
    assert.strictEqual(onChain, rationaleHash);
    assert.include(document, { outcome: "BuyerRefund", criteriaHash: deal.terms.criteriaHash, judge: "facts" });

    const facts = await readStack();
    const env = { ...process.env, ...networkVariables(facts), MONGODB_URI: facts.mongodbUri };
    const args = ["scripts/verify-ruling.ts", resolved.disputeId, "--json"];
    // The worker may still have to apply the resolution.
    const verified = await until("the resolution is applied", async () => {
      const { stdout } = await run(process.execPath, args, { env });
      const found = JSON.parse(stdout) as { holds: boolean; findings: { part: string; holds: boolean | null }[] };
      return found.findings.every(({ holds }) => holds !== null) && found;
    });
    assert.deepEqual(
      verified.findings.filter(({ holds }) => holds !== true),
      [],
    );
    assert.isTrue(verified.holds);
  });

  it("[S1.05] [S3.2.34] is paid when the result meets them, even if nobody says anything", async () => {
    const shop = await openShop(stack);
    const { deal } = await disputed(shop, GOOD);
    const resolved = await deal.dispute.waitForResolution(PATIENT);
    assert.include(resolved, { outcome: "SellerPaid", resolvedBy: "system", reason: null });
    assert.strictEqual(await paidTo(shop.seller, resolved.resolutionTxHash), deal.terms.refundableAmount);
    assert.deepEqual(await scoresOf(shop), [-3, 1]);
  });

  it("[D44] [S3.2.35] ends as its parties agree, before a ruling", async () => {
    const shop = await openShop(stack);
    const { deal, job } = await disputed(shop);
    await job.dispute.offerSettlement({ buyerPercent: 70 });
    await deal.dispute.acceptSettlement(70);
    const ended = await deal.dispute.agree(PATIENT);
    assert.strictEqual(ended.status, "resolved");
    const resolved = await job.dispute.waitForResolution(PATIENT);
    assert.include(resolved, { outcome: "Split", buyerPercent: 70, resolutionMethod: "agreement" });
    const share = (deal.terms.refundableAmount * 70n) / 100n;
    assert.strictEqual(await paidTo(shop.buyer, resolved.resolutionTxHash), share);
    assert.strictEqual(await paidTo(shop.seller, resolved.resolutionTxHash), deal.terms.refundableAmount - share);
    assert.deepEqual(await scoresOf(shop), [0, 0]);
  });

  async function byPauser(functionName: "pauseRulings" | "unpauseRulings"): Promise<void> {
    const pauser = stack.chain.walletOf(privateKeyToAccount(roleAccount("pauser").privateKey as `0x${string}`));
    const { account, chain } = pauser;
    const call = { address: stack.chain.deployment.resolver, abi: resolverAbi, functionName } as const;
    const hash = await pauser.writeContract({ account, chain, ...call });
    await stack.chain.client.waitForTransactionReceipt({ hash });
  }

  /** Waits until the system's ruling can't be sent, because rulings are paused. */
  async function isHeld(deal: Deal): Promise<void> {
    const isHeldNow = async () => {
      const found = await deal.dispute.read();
      return found.transaction?.state === "held" && found;
    };
    // The sender may be in a pause of a minute after a ruling that it couldn't send.
    const held = await until("the ruling is held", isHeldNow, PATIENT.timeoutMs);
    assert.deepEqual([held.status, held.transaction?.problem], ["ruled", "rulings_paused"]);
  }

  it("[D8] [S3.2.35] is split by an admin, who replaces a ruling that hasn't been sent", async () => {
    const shop = await openShop(stack);
    await byPauser("pauseRulings");
    const { deal } = await disputed(shop, POOR);
    try {
      await isHeld(deal);
      const { disputeId } = await deal.dispute.read();
      const answer = await fetch(`${stack.url}/api/v1/admin/disputes/${disputeId}/ruling`, {
        method: "POST",
        headers: { "content-type": "application/json", ...AS_ADMIN.headers },
        body: JSON.stringify({
          outcome: "Split",
          buyerPercent: 75,
          sellerPercent: 25,
          rationale: "A quarter is usable.",
        }),
      });
      assert.strictEqual(answer.status, 202, await answer.text());
    } finally {
      await byPauser("unpauseRulings");
    }
    const resolved = await deal.dispute.waitForResolution(PATIENT);
    assert.include(resolved, { outcome: "Split", buyerPercent: 75, resolvedBy: "admin", resolutionMethod: "ruling" });
    const share = (deal.terms.refundableAmount * 75n) / 100n;
    assert.strictEqual(await paidTo(shop.buyer, resolved.resolutionTxHash), share);
    assert.strictEqual(await paidTo(shop.seller, resolved.resolutionTxHash), deal.terms.refundableAmount - share);
    assert.deepEqual(await scoresOf(shop), [0, 0]);
  });

  it("[D8] [D14] ends after 30 days without a ruling: anyone may split it", async () => {
    const shop = await openShop(stack);
    await byPauser("pauseRulings");
    try {
      const { deal, job } = await disputed(shop, POOR);
      await isHeld(deal);
      const { timestamp } = await stack.chain.client.getBlock();
      await stack.chain.moveClockTo(Number(timestamp) + TIMEOUT_SECONDS + 1);
      await until("the timeout is offered", async () =>
        (await job.read()).actions.some(({ action }) => action === "resolveExpired"),
      );
      const { status } = await job.resolveExpired(PATIENT);
      assert.strictEqual(status, "resolved");
      const resolved = await deal.dispute.waitForResolution(PATIENT);
      assert.include(resolved, { outcome: "Split", buyerPercent: 50, resolutionMethod: "timeout", rationale: null });
      assert.deepEqual(await scoresOf(shop), [0, 0]);
    } finally {
      await byPauser("unpauseRulings");
    }
  });

  it("is shown by the demo: a win for each side, and an agreement", async () => {
    const args = ["scripts/demo.ts", "--scenario", "dispute", "--json", "--stack", process.env["TEST_STACK"] ?? ""];
    const { stdout } = await run(process.execPath, args, { timeout: 300_000 });
    const { disputes } = JSON.parse(stdout) as { disputes: { outcome: string; method: string }[] };
    assert.deepEqual(
      disputes.map(({ outcome, method }) => [outcome, method]),
      [
        ["BuyerRefund", "ruling"],
        ["SellerPaid", "ruling"],
        ["Split", "agreement"],
      ],
    );
  });
});
