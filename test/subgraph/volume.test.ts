import { assert } from "chai";
import { concat, keccak256, parseEther, stringToHex } from "viem";
import type { Account, Address, Hex } from "viem";

import { littleEndian, Marketplace } from "./support/marketplace.ts";
import { ownStack } from "./support/own-stack.ts";
import { readDays } from "./support/records.ts";

const DAY_SECONDS = 86_400;
const RATIONALE = keccak256(stringToHex("A part of it does what was asked."));
const BUYER_REFUND = 0;
const SELLER_PAID = 1;
const SPLIT = 2;

// These tests move the chain's clock and roll it back, so they start a stack of their own.
describe("the subgraph adds up what settles each day", () => {
  const stack = ownStack();
  let market: Marketplace;
  before(() => {
    ({ market } = stack);
  });

  const parties = async (): Promise<[Account, Account]> => [await market.newParty(), await market.newParty()];
  /** Starts a new day, so that a test's settlements fall on one. */
  async function nextDay(): Promise<number> {
    const now = await market.timeOf();
    await market.passTime(DAY_SECONDS - (now % DAY_SECONDS) + 1);
    return Math.floor((await market.timeOf()) / DAY_SECONDS);
  }
  /** In lower case, as graph-node has it. */
  const idOf = ({ address }: Account, day: number): Hex => concat([address.toLowerCase() as Hex, littleEndian(day)]);

  it("in USD and in the token, for the seller as sold with its fee and for the buyer as bought", async () => {
    const day = await nextDay();
    const [buyer, seller] = await parties();
    await market.createReleased(buyer, seller, { amount: 5_000_001n });
    const { blockNumber } = await market.createReleased(buyer, seller, { amount: 3_000_000n });
    const usdc = { id: market.usdc.toLowerCase() };
    assert.deepEqual(await readDays(market, seller, blockNumber), [
      {
        id: idOf(seller, day),
        day,
        soldCount: 2,
        soldUsd: "8000001",
        soldFeeUsd: "160001",
        boughtCount: 0,
        boughtUsd: "0",
        tokens: [
          {
            id: concat([idOf(seller, day), market.usdc.toLowerCase() as Hex]),
            token: usdc,
            day,
            sold: "7840000",
            soldFee: "160001",
            bought: "0",
          },
        ],
      },
    ]);
    const [bought, ...others] = await readDays(market, buyer, blockNumber);
    assert.deepEqual(
      [bought?.id, bought?.soldCount, bought?.soldUsd, bought?.boughtCount, bought?.boughtUsd, others.length],
      [idOf(buyer, day), 0, "0", 2, "8000001", 0],
    );
    assert.deepEqual(
      bought?.tokens.map(({ sold, soldFee, bought: paid }) => ({ sold, soldFee, paid })),
      [{ sold: "0", soldFee: "0", paid: "7840000" }],
    );
  });

  const rulings = [
    { outcome: "SellerPaid", code: SELLER_PAID, split: undefined, usd: "5000000", fee: "100000", paid: "4900000" },
    { outcome: "a split of 30 to 70", code: SPLIT, split: [30n, 70n], usd: "3500000", fee: "70000", paid: "3430000" },
    { outcome: "a split of 67 to 33", code: SPLIT, split: [67n, 33n], usd: "1650000", fee: "33000", paid: "1617000" },
  ] as const;
  for (const { outcome, code, split, usd, fee, paid } of rulings) {
    it(`[D22] a dispute that ends as ${outcome} counts by the paid share`, async () => {
      const [buyer, seller] = await parties();
      const { id } = await market.createDisputed(buyer, seller);
      const { blockNumber } = await (split === undefined
        ? market.confirmed(
            market.resolverAs(market.role("systemResolver")).write.resolveBySystem([id, code, RATIONALE]),
          )
        : market.confirmed(
            market.resolverAs(market.role("adminResolver")).write.resolveByAdmin([id, code, ...split, RATIONALE]),
          ));
      const [day, ...others] = await readDays(market, seller, blockNumber);
      assert.deepEqual(
        [day?.soldUsd, day?.soldFeeUsd, day?.tokens[0]?.sold, day?.tokens[0]?.soldFee, others.length],
        [usd, fee, paid, fee, 0],
      );
      assert.strictEqual((await readDays(market, buyer, blockNumber))[0]?.boughtUsd, usd);
    });
  }

  it("a refund, an abandonment and a dispute that the buyer wins add nothing", async () => {
    const [buyer, seller] = await parties();
    const declined = await market.createEscrow(buyer, seller);
    await market.confirmed(market.escrowAs(seller).write.refund([declined.id]));
    const disputed = await market.createDisputed(buyer, seller);
    const system = market.resolverAs(market.role("systemResolver"));
    await market.confirmed(system.write.resolveBySystem([disputed.id, BUYER_REFUND, RATIONALE]));
    const abandoned = await market.createEscrow(buyer, seller);
    await market.passTime(DAY_SECONDS + 3_601);
    const { blockNumber } = await market.confirmed(market.escrowAs(buyer).write.claimAbandoned([abandoned.id]));
    assert.deepEqual(await readDays(market, seller, blockNumber), []);
    assert.deepEqual(await readDays(market, buyer, blockNumber), []);
  });

  it("by the UTC day of the settlement, not of the deposit, with a new day at midnight", async () => {
    const [buyer, seller] = await parties();
    const first = await nextDay();
    // At noon, so that the dispute window of a day ends half a day after the next midnight.
    await market.passTime(DAY_SECONDS / 2);
    const early = await market.createDelivered(buyer, seller);
    const late = await market.createDelivered(buyer, seller, { disputeWindow: 86_400n });
    await market.confirmed(market.escrowAs(buyer).write.accept([early.id]));
    const second = await nextDay();
    const { blockNumber } = await market.confirmed(market.escrowAs(buyer).write.accept([late.id]));
    assert.deepEqual(
      (await readDays(market, seller, blockNumber)).map(({ day, soldCount }) => [day, soldCount]),
      [
        [first, 1],
        [second, 1],
      ],
    );
  });

  it("[D22] values ether by the price at creation and keeps its units apart from those of USDC", async () => {
    const mainnet = new Marketplace(stack.facts, "base");
    const [buyer, seller] = [await mainnet.newParty(), await mainnet.newParty()];
    const weth = mainnet.tokens["WETH"] as Address;
    const amount = parseEther("0.002");
    const wrapped = mainnet.tokenAs(buyer, weth);
    await mainnet.confirmed(wrapped.write.deposit({ value: amount }));
    await mainnet.confirmed(wrapped.write.approve([mainnet.escrow, amount]));
    await mainnet.createReleased(buyer, seller, { amount: 1_000_000n });
    const created = await mainnet.createDelivered(buyer, seller, { token: weth, amount });
    const { blockNumber } = await mainnet.confirmed(mainnet.escrowAs(buyer).write.accept([created.id]));
    const [day] = await readDays(mainnet, seller, blockNumber);
    // The local feed says $2,500.
    assert.deepEqual([day?.soldCount, day?.soldUsd, day?.soldFeeUsd], [2, "6000000", "120000"]);
    const byToken = new Map(day?.tokens.map((one) => [one.token.id, one]));
    assert.strictEqual(byToken.get(mainnet.usdc.toLowerCase())?.soldFee, "20000");
    const ether = byToken.get(weth.toLowerCase());
    assert.deepEqual([ether?.sold, ether?.soldFee], [(amount * 98n) / 100n, (amount * 2n) / 100n].map(String));
  });

  it("a reorganisation takes a settlement out of its day, and the new branch counts once", async () => {
    await nextDay();
    const [buyer, seller] = await parties();
    await market.createReleased(buyer, seller, { amount: 2_000_000n });
    const delivered = await market.createDelivered(buyer, seller, { amount: 3_000_000n });
    const acceptance = await market.confirmed(market.escrowAs(buyer).write.accept([delivered.id]));
    const sold = async (block: bigint) =>
      (await readDays(market, seller, block)).map(({ soldCount, soldUsd }) => [soldCount, soldUsd]);
    assert.deepEqual(await sold(acceptance.blockNumber), [[2, "5000000"]]);
    const grown = await market.takeBack(acceptance);
    assert.deepEqual(await sold(grown), [[1, "2000000"]]);
    const again = await market.confirmed(market.escrowAs(buyer).write.accept([delivered.id]));
    assert.deepEqual(await sold(again.blockNumber), [[2, "5000000"]]);
  });
});
