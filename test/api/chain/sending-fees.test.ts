import { assert } from "chai";

import { firstOffer, nextOffer } from "../../../api/chain/sending/fees.ts";

const MULTIPLE = 10;
const market = (baseFee: bigint, priorityFee: bigint) => ({ baseFee, priorityFee });

describe("the fees of a transaction", () => {
  it("start with twice the base fee and the market's tip", () => {
    assert.deepEqual(firstOffer(market(100n, 7n)), { maxFeePerGas: 207n, maxPriorityFeePerGas: 7n });
  });

  it("rise by at least an eighth each time, also from nothing", () => {
    for (const fee of [0n, 1n, 7n, 8n, 9n, 1_000_001n]) {
      const offer = nextOffer({ maxFeePerGas: fee, maxPriorityFeePerGas: fee }, market(fee + 1n, fee), MULTIPLE);
      assert.ok(offer !== undefined);
      for (const next of [offer.maxFeePerGas, offer.maxPriorityFeePerGas]) {
        assert.isTrue(next > fee && next * 8n >= fee * 9n, `${fee} to ${next}`);
      }
    }
  });

  it("follow a market that rises faster", () => {
    const offer = nextOffer({ maxFeePerGas: 207n, maxPriorityFeePerGas: 7n }, market(1_000n, 50n), MULTIPLE);
    assert.deepEqual(offer, { maxFeePerGas: 2_050n, maxPriorityFeePerGas: 50n });
  });

  it("never offer a tip above the whole fee, nor more than the multiple of the market's fees", () => {
    const tip = nextOffer({ maxFeePerGas: 100n, maxPriorityFeePerGas: 100n }, market(50n, 0n), MULTIPLE);
    assert.deepEqual(tip, { maxFeePerGas: 113n, maxPriorityFeePerGas: 113n });
    const previous = { maxFeePerGas: 960n, maxPriorityFeePerGas: 10n };
    assert.isUndefined(nextOffer(previous, market(100n, 7n), MULTIPLE));
    assert.strictEqual(nextOffer(previous, market(100n, 8n), MULTIPLE)?.maxFeePerGas, 1_080n);
  });
});
