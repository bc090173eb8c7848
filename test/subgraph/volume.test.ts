import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { assert } from "chai";
import { concat, keccak256, parseEther, toBeHex, toUtf8Bytes } from "ethers";

import { findFreePorts } from "../../scripts/local/ports.ts";
import { startStack } from "../../scripts/local/stack.ts";
import type { Stack } from "../../scripts/local/stack.ts";
import { PORTS_PER_STACK } from "../../scripts/local/stack-ports.ts";
import { IWeth9__factory } from "../../typechain-types/factories/contracts/mocks/IWeth9__factory.ts";
import { Marketplace, confirmed } from "./support/marketplace.ts";
import type { Party } from "./support/marketplace.ts";
import { readDays } from "./support/records.ts";

const DAY_SECONDS = 86_400;
const RATIONALE = keccak256(toUtf8Bytes("A part of it does what was asked."));
const BUYER_REFUND = 0n;
const SELLER_PAID = 1n;
const SPLIT = 2n;

// These tests move the chain's clock and roll it back, so they start a stack of their own.
describe("the subgraph adds up what settles each day", () => {
  let dir: string;
  let stack: Stack;
  let market: Marketplace;
  before(async () => {
    dir = mkdtempSync(join(tmpdir(), "marketplace-volume-"));
    stack = await startStack({ dir, portBase: await findFreePorts(PORTS_PER_STACK), only: ["graph"] });
    market = new Marketplace(stack.facts, "base-sepolia");
  });
  after(async () => {
    market.close();
    await stack.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const parties = async (): Promise<[Party, Party]> => [await market.newParty(), await market.newParty()];
  /** Starts a new day, so that a test's settlements fall on one. */
  async function nextDay(): Promise<number> {
    const now = await market.now();
    await market.passTime(DAY_SECONDS - (now % DAY_SECONDS) + 1);
    return Math.floor((await market.now()) / DAY_SECONDS);
  }
  const idOf = (party: Party, day: number): string =>
    concat([party.address, `0x${toBeHex(day, 4).slice(2).match(/../g)?.reverse().join("") ?? ""}`]);

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
        ...{ soldCount: 2, soldUsd: "8000001", soldFeeUsd: "160001", boughtCount: 0, boughtUsd: "0" },
        tokens: [
          {
            id: concat([idOf(seller, day), market.usdc]),
            ...{ token: usdc, day, sold: "7840000", soldFee: "160001", bought: "0" },
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
        ? confirmed(market.resolverAs(market.role("systemResolver")).resolveBySystem(id, code, RATIONALE))
        : confirmed(market.resolverAs(market.role("adminResolver")).resolveByAdmin(id, code, ...split, RATIONALE)));
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
    await confirmed(market.escrowAs(seller).refund(declined.id));
    const disputed = await market.createDisputed(buyer, seller);
    const system = market.resolverAs(market.role("systemResolver"));
    await confirmed(system.resolveBySystem(disputed.id, BUYER_REFUND, RATIONALE));
    const abandoned = await market.createEscrow(buyer, seller);
    await market.passTime(DAY_SECONDS + 3_601);
    const { blockNumber } = await confirmed(market.escrowAs(buyer).claimAbandoned(abandoned.id));
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
    await confirmed(market.escrowAs(buyer).accept(early.id));
    const second = await nextDay();
    const { blockNumber } = await confirmed(market.escrowAs(buyer).accept(late.id));
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
    try {
      const [buyer, seller] = [await mainnet.newParty(), await mainnet.newParty()];
      const weth = mainnet.tokens["WETH"] ?? "";
      const amount = parseEther("0.002");
      const wrapped = IWeth9__factory.connect(weth, buyer.wallet);
      await confirmed(wrapped.deposit({ value: amount }));
      await confirmed(wrapped.approve(await mainnet.escrowAs(buyer).getAddress(), amount));
      await mainnet.createReleased(buyer, seller, { amount: 1_000_000n });
      const created = await mainnet.createDelivered(buyer, seller, { token: weth, amount });
      const { blockNumber } = await confirmed(mainnet.escrowAs(buyer).accept(created.id));
      const [day] = await readDays(mainnet, seller, blockNumber);
      // The local feed says $2,500.
      assert.deepEqual([day?.soldCount, day?.soldUsd, day?.soldFeeUsd], [2, "6000000", "120000"]);
      const byToken = new Map(day?.tokens.map((one) => [one.token.id, one]));
      assert.strictEqual(byToken.get(mainnet.usdc.toLowerCase())?.soldFee, "20000");
      const ether = byToken.get(weth.toLowerCase());
      assert.deepEqual([ether?.sold, ether?.soldFee], [(amount * 98n) / 100n, (amount * 2n) / 100n].map(String));
    } finally {
      mainnet.close();
    }
  });

  it("a reorganisation takes a settlement out of its day, and the new branch counts once", async () => {
    await nextDay();
    const [buyer, seller] = await parties();
    await market.createReleased(buyer, seller, { amount: 2_000_000n });
    const delivered = await market.createDelivered(buyer, seller, { amount: 3_000_000n });
    const acceptance = await confirmed(market.escrowAs(buyer).accept(delivered.id));
    const sold = async (block: number) =>
      (await readDays(market, seller, block)).map(({ soldCount, soldUsd }) => [soldCount, soldUsd]);
    assert.deepEqual(await sold(acceptance.blockNumber), [[2, "5000000"]]);
    const grown = await market.takeBack(acceptance);
    assert.deepEqual(await sold(grown), [[1, "2000000"]]);
    const again = await confirmed(market.escrowAs(buyer).accept(delivered.id));
    assert.deepEqual(await sold(again.blockNumber), [[2, "5000000"]]);
  });
});
