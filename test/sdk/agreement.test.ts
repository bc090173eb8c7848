import { assert } from "chai";

import { ArgumentError, Marketplace, RefusedError } from "../../sdk/src/index.ts";
import type { Deal } from "../../sdk/src/index.ts";
import type { TestAgent } from "../fixtures/api.ts";
import { Court } from "../fixtures/disputes.ts";
import { PATIENT } from "../fixtures/full-stack.ts";
import { rejectionOf } from "../fixtures/rejection.ts";

describe("a dispute that its parties end with the client", () => {
  let court: Court;
  before(async () => {
    court = await Court.open();
  });
  after(() => court.close());

  const open = ({ apiKey, account }: TestAgent, transactionId: string): Promise<Deal> => {
    const market = new Marketplace({ url: court.api.url });
    return market.agent({ apiKey, wallet: court.chain.walletOf(account) }).deal(transactionId);
  };
  async function disputed(): Promise<{ deal: Deal; job: Deal }> {
    const { transactionId } = await court.disputed();
    return { deal: await open(court.buyer, transactionId), job: await open(court.seller, transactionId) };
  }

  it("[D44] is returned as of the block that paid, and sent once", async () => {
    const { deal, job } = await disputed();
    await job.dispute.offerSettlement({ buyerPercent: 70 });
    await deal.dispute.acceptSettlement(70);
    const steps: [step: string, block: bigint][] = [];
    const onReceipt = (step: string, { blockNumber }: { blockNumber: bigint }) => steps.push([step, blockNumber]);
    const ended = await deal.dispute.agree({ ...PATIENT, onReceipt });
    const share = (deal.terms.refundableAmount * 70n) / 100n;
    assert.deepEqual(
      [ended.status, ended.buyerAmount, ended.sellerAmount],
      ["resolved", share, deal.terms.refundableAmount - share],
    );
    const [[step, block] = []] = steps;
    assert.strictEqual(step, "resolveByAgreement");
    assert.isAtLeast(Number(ended.indexedBlock), Number(block));

    const again = await job.dispute.agree({ ...PATIENT, onReceipt });
    assert.deepEqual([again.status, again.buyerAmount, steps.length], ["resolved", share, 1]);
  });

  it("isn't sent before both have signed the same", async () => {
    const { deal, job } = await disputed();
    const before = await court.chain.client.getTransactionCount({ address: court.buyer.walletAddress });
    await job.dispute.offerSettlement({ buyerPercent: 30 });
    for (const offered of [false, true]) {
      if (offered) await deal.dispute.offerSettlement({ buyerPercent: 40 });
      const { message } = await rejectionOf(deal.dispute.agree(PATIENT), RefusedError);
      assert.strictEqual(message, "the parties haven't signed the same terms");
    }
    const after = await court.chain.client.getTransactionCount({ address: court.buyer.walletAddress });
    assert.strictEqual(after, before);
    await rejectionOf(deal.dispute.agree({ timeoutMs: NaN }), ArgumentError);
  });
});
