import { expect } from "chai";

import { ethers, loadFixture, networkHelpers } from "../../fixtures/chain.ts";
import type { Terms } from "../../fixtures/deals.ts";
import { DAY, State, USDC, at, dealIn, funded, newId, now, sendCreate, termsOf } from "../../fixtures/deals.ts";
import { TokenMood, hostileMarketplace } from "../../fixtures/hostile.ts";
import { impersonate, marketplace } from "../../fixtures/marketplace.ts";

const MAX_DELIVERY_SECONDS = 2n ** 22n - 1n;
const MAX_UINT96 = 2n ** 96n - 1n;

describe("EscrowV2.createEscrow", () => {
  describe("happy", () => {
    it("takes exactly the amount from the buyer, and 2% of it to the treasury [S3.2.03] [S3.2.04] [S8.1.06] [D1]", async () => {
      const market = await loadFixture(marketplace);
      const { usdc, actors } = market;
      const terms = await termsOf(market, { amount: 10n * USDC });
      await expect(sendCreate(market, terms)).to.changeTokenBalances(
        ethers,
        usdc,
        [actors.buyer, actors.treasury, actors.seller, actors.owner],
        [-10_000_000n, 200_000n, 0n, 0n],
      );
    });

    it("holds the rest in the contract alone, as a funded escrow [S3.2.01] [S3.2.05] [S1.03] [S3.1.02]", async () => {
      const market = await loadFixture(marketplace);
      const { escrow, usdc, actors } = market;
      const terms = await termsOf(market, { amount: 10n * USDC });
      await expect(sendCreate(market, terms)).to.changeTokenBalances(
        ethers,
        usdc,
        [escrow, actors.seller, actors.owner],
        [9_800_000n, 0n, 0n],
      );
      expect((await escrow.getEscrow(terms.escrowId)).state).to.equal(State.Funded);
    });

    it("rounds the 2% fee up, never down [S4.301] [S8.1.06] [D1]", async () => {
      const market = await loadFixture(marketplace);
      const { escrow, usdc, actors } = market;
      for (const [amount, fee] of [
        [10_000n, 200n],
        [10_001n, 201n],
        [10_049n, 201n],
        [10_050n, 201n],
        [10_051n, 202n],
        [999_999n, 20_000n],
      ] as const) {
        const terms = await termsOf(market, { amount });
        await expect(sendCreate(market, terms)).to.changeTokenBalance(ethers, usdc, actors.treasury, fee);
        const record = await escrow.getEscrow(terms.escrowId);
        expect([record.amount, record.fee, record.locked]).to.deep.equal([amount, fee, amount - fee]);
      }
    });

    it("announces every term, the fee and the value in USD [S4.401]", async () => {
      const market = await loadFixture(marketplace);
      const { escrow } = market;
      const terms = await termsOf(market, { disputeWindow: 301n, abandonmentGrace: 3_601n });
      await expect(sendCreate(market, terms))
        .to.emit(escrow, "EscrowCreated")
        .withArgs(
          terms.escrowId,
          terms.buyer,
          terms.seller,
          terms.token,
          USDC,
          20_000n,
          terms.deadline,
          301n,
          3_601n,
          terms.criteriaHash,
          USDC,
        );
    });

    it("takes its eight parameters in the order of the specification [S4.401]", async () => {
      const { escrow } = await loadFixture(marketplace);
      const inputs = escrow.interface.getFunction("createEscrow").inputs.map(({ type, name }) => `${type} ${name}`);
      expect(inputs).to.deep.equal([
        "bytes32 escrowId",
        "address seller",
        "uint256 amount",
        "address token",
        "uint256 deadline",
        "uint256 disputeWindow",
        "uint256 abandonmentGrace",
        "bytes32 criteriaHash",
      ]);
    });

    it("applies the contract's defaults of 3600 and 172800 seconds to zeros [S8.1.01] [S8.1.03] [D10]", async () => {
      const market = await loadFixture(marketplace);
      const { escrow } = market;
      const { escrowId } = await funded(market, { disputeWindow: 0n, abandonmentGrace: 0n });
      const record = await escrow.getEscrow(escrowId);
      expect([record.disputeWindow, record.abandonmentGrace]).to.deep.equal([3_600n, 172_800n]);
      const [created] = await escrow.queryFilter(escrow.filters.EscrowCreated(escrowId));
      expect([created?.args.disputeWindow, created?.args.abandonmentGrace]).to.deep.equal([3_600n, 172_800n]);
    });

    it("holds escrows in different tokens side by side [S1.14]", async () => {
      const market = await loadFixture(marketplace);
      const { escrow, usdc, weth } = market;
      const inUsdc = await funded(market);
      const inWeth = await funded(market, { token: await weth.getAddress(), amount: 10n ** 15n });
      expect(await usdc.balanceOf(escrow)).to.equal(inUsdc.locked);
      expect(await weth.balanceOf(escrow)).to.equal(inWeth.locked);
      expect((await escrow.getEscrow(inUsdc.escrowId)).token).to.equal(await usdc.getAddress());
      expect((await escrow.getEscrow(inWeth.escrowId)).token).to.equal(await weth.getAddress());
    });

    it("keeps amounts of more than 52 bits whole; at score 100 no cap applies [S8.4.05] [D11]", async () => {
      const market = await loadFixture(hostileMarketplace);
      const { escrow, token, actors, score } = market;
      const cheap = { feed: ethers.ZeroAddress, maxPriceAge: 0, decimals: 6, listed: true, minAmount: 2n };
      await escrow.connect(actors.owner).listToken(token, cheap);
      const writer = await impersonate(await escrow.getAddress());
      for (let i = 0; i < 100; i += 1) {
        await score.connect(writer).recordOutcome(newId(), actors.buyer, actors.seller, 0);
      }
      await token.mint(actors.buyer, 2n * MAX_UINT96);
      for (const amount of [2n ** 52n - 1n, 2n ** 52n, 2n ** 95n, MAX_UINT96]) {
        const deal = await funded(market, { token: await token.getAddress(), amount });
        expect((await escrow.getEscrow(deal.escrowId)).amount).to.equal(amount);
        await expect(escrow.connect(actors.seller).refund(deal.escrowId)).to.changeTokenBalance(
          ethers,
          token,
          actors.buyer,
          deal.locked,
        );
      }
    });
  });

  describe("deposit", () => {
    it("reverts without an allowance, and with one that is too small [S3.2.02] [S7.28]", async () => {
      const market = await loadFixture(marketplace);
      const { escrow, usdc, actors } = market;
      for (const allowance of [0n, USDC - 1n]) {
        await usdc.connect(actors.buyer).approve(escrow, allowance);
        await expect(sendCreate(market, await termsOf(market))).to.be.revertedWith(
          "ERC20: transfer amount exceeds allowance",
        );
      }
      await usdc.connect(actors.buyer).approve(escrow, USDC);
      await sendCreate(market, await termsOf(market));
    });

    it("reverts when the buyer has less than the amount [S7.27]", async () => {
      const market = await loadFixture(marketplace);
      const { usdc, actors, escrow } = market;
      const balance = await usdc.balanceOf(actors.buyer);
      await usdc.connect(actors.buyer).transfer(actors.stranger, balance - USDC + 1n);
      await expect(sendCreate(market, await termsOf(market))).to.be.revertedWith(
        "ERC20: transfer amount exceeds balance",
      );
      expect(await usdc.balanceOf(escrow)).to.equal(0n);
    });

    const deposits: [string, bigint, bigint][] = [
      ["keeps a fee on transfers", TokenMood.TakesFee, 990_000n],
      ["moves nothing and says it did", TokenMood.LiesOnDeposit, 0n],
      ["takes from the contract instead", TokenMood.DrainsOnDeposit, 0n],
    ];
    for (const [title, mood, received] of deposits) {
      it(`refuses a token that ${title} [D10]`, async () => {
        const market = await loadFixture(hostileMarketplace);
        const { escrow, token, inToken } = market;
        await funded(market, inToken); // there is something to take
        await token.setMood(mood);
        await expect(sendCreate(market, await termsOf(market, inToken)))
          .to.be.revertedWithCustomError(escrow, "TransferAmountMismatch")
          .withArgs(token, 1_000_000n, received);
      });
    }

    it("refuses a deposit for which the token answers false", async () => {
      const market = await loadFixture(hostileMarketplace);
      const { escrow, token, inToken } = market;
      await token.setMood(TokenMood.ReturnsFalse);
      await expect(sendCreate(market, await termsOf(market, inToken)))
        .to.be.revertedWithCustomError(escrow, "SafeERC20FailedOperation")
        .withArgs(token);
    });

    it("credits the fee when the treasury cannot receive it: the escrow is created all the same [D9]", async () => {
      const market = await loadFixture(hostileMarketplace);
      const { escrow, token, actors, inToken } = market;
      await token.setDenied(actors.treasury, true);
      const terms = await termsOf(market, inToken);
      await expect(sendCreate(market, terms))
        .to.emit(escrow, "PayoutCredited")
        .withArgs(terms.escrowId, actors.treasury, token, 20_000n);
      expect(await escrow.creditOf(actors.treasury, token)).to.equal(20_000n);
      expect(await token.balanceOf(escrow)).to.equal(1_000_000n);
      expect((await escrow.getEscrow(terms.escrowId)).state).to.equal(State.Funded);
    });
  });

  describe("terms", () => {
    const refusals: [string, Partial<Terms>, string, unknown[]][] = [
      ["a zero escrow id", { escrowId: ethers.ZeroHash }, "InvalidEscrowId", [ethers.ZeroHash]],
      ["no seller", { seller: ethers.ZeroAddress }, "InvalidSeller", [ethers.ZeroAddress]],
      [
        "a dispute window of 299 s [S8.1.02] [D10]",
        { disputeWindow: 299n },
        "DisputeWindowOutOfRange",
        [299n, 300n, 86_400n],
      ],
      [
        "a dispute window of 86401 s [S8.1.02] [D10]",
        { disputeWindow: 86_401n },
        "DisputeWindowOutOfRange",
        [86_401n, 300n, 86_400n],
      ],
      [
        "an abandonment grace of 3599 s [S8.1.04] [D10]",
        { abandonmentGrace: 3_599n },
        "AbandonmentGraceOutOfRange",
        [3_599n, 3_600n, 2_592_000n],
      ],
      [
        "an abandonment grace of 2592001 s [S8.1.04] [D10]",
        { abandonmentGrace: 2_592_001n },
        "AbandonmentGraceOutOfRange",
        [2_592_001n, 3_600n, 2_592_000n],
      ],
      ["a deposit below the token's minimum [D10]", { amount: 9_999n }, "AmountBelowMinimum", [9_999n, 10_000n]],
      ["no deposit [D10]", { amount: 0n }, "AmountBelowMinimum", [0n, 10_000n]],
      ["a deposit above 96 bits", { amount: MAX_UINT96 + 1n }, "AmountAboveMaximum", [MAX_UINT96 + 1n, MAX_UINT96]],
    ];
    for (const [title, overrides, error, args] of refusals) {
      it(`refuses ${title}`, async () => {
        const market = await loadFixture(marketplace);
        await expect(sendCreate(market, await termsOf(market, overrides)))
          .to.be.revertedWithCustomError(market.escrow, error)
          .withArgs(...args);
      });
    }

    it("takes windows and graces at both ends of their ranges [S8.1.02] [S8.1.04]", async () => {
      const market = await loadFixture(marketplace);
      for (const [disputeWindow, abandonmentGrace] of [
        [300n, 3_600n],
        [86_400n, 2_592_000n],
      ] as const) {
        const { escrowId } = await funded(market, { disputeWindow, abandonmentGrace });
        const record = await market.escrow.getEscrow(escrowId);
        expect([record.disputeWindow, record.abandonmentGrace]).to.deep.equal([disputeWindow, abandonmentGrace]);
      }
    });

    it("takes a deadline of now + 600 s, in unix seconds, and refuses one second less [S4.402] [D10]", async () => {
      const market = await loadFixture(marketplace);
      const second = (await now()) + 100n;
      const early = await termsOf(market, { deadline: second + 599n });
      await at(second);
      await expect(sendCreate(market, early))
        .to.be.revertedWithCustomError(market.escrow, "DeadlineTooEarly")
        .withArgs(second + 599n, second + 600n);
      const next = (await now()) + 100n;
      const terms = await termsOf(market, { deadline: next + 600n });
      await at(next);
      await sendCreate(market, terms);
      const record = await market.escrow.getEscrow(terms.escrowId);
      expect([record.createdAt, record.deadline]).to.deep.equal([next, next + 600n]);
    });

    it("takes the latest deadline that the record holds and refuses one second more", async () => {
      const market = await loadFixture(marketplace);
      const second = (await now()) + 100n;
      const late = await termsOf(market, { deadline: second + MAX_DELIVERY_SECONDS + 1n });
      await at(second);
      await expect(sendCreate(market, late))
        .to.be.revertedWithCustomError(market.escrow, "DeadlineTooLate")
        .withArgs(second + MAX_DELIVERY_SECONDS + 1n, second + MAX_DELIVERY_SECONDS);
      const next = (await now()) + 100n;
      const terms = await termsOf(market, { deadline: next + MAX_DELIVERY_SECONDS });
      await at(next);
      await sendCreate(market, terms);
      expect((await market.escrow.getEscrow(terms.escrowId)).deadline).to.equal(next + MAX_DELIVERY_SECONDS);
    });

    it("refuses a creation after the year 2106, whose second the record cannot hold", async () => {
      const market = await loadFixture(marketplace);
      const second = 2n ** 32n;
      const terms = await termsOf(market, { deadline: second + DAY });
      const present = await networkHelpers.takeSnapshot();
      try {
        await at(second);
        await expect(sendCreate(market, terms))
          .to.be.revertedWithCustomError(market.escrow, "FieldOverflow")
          .withArgs(second, second - 1n);
      } finally {
        // A fixture that another test is the first to load would otherwise begin in that year.
        await present.restore();
      }
    });

    it("refuses the buyer as its own seller [D10]", async () => {
      const market = await loadFixture(marketplace);
      const { escrow, actors } = market;
      await expect(sendCreate(market, await termsOf(market, { seller: actors.buyer.address })))
        .to.be.revertedWithCustomError(escrow, "BuyerIsSeller")
        .withArgs(actors.buyer);
    });

    it("refuses the escrow contract as seller", async () => {
      const market = await loadFixture(marketplace);
      const seller = await market.escrow.getAddress();
      await expect(sendCreate(market, await termsOf(market, { seller })))
        .to.be.revertedWithCustomError(market.escrow, "InvalidSeller")
        .withArgs(seller);
    });

    it("refuses a token that is not listed [D10]", async () => {
      const market = await loadFixture(marketplace);
      const token = market.actors.stranger.address;
      await expect(sendCreate(market, await termsOf(market, { token })))
        .to.be.revertedWithCustomError(market.escrow, "TokenNotListed")
        .withArgs(token);
    });

    it("refuses an escrow id that was used before, in whatever state and by whomever", async () => {
      const market = await loadFixture(marketplace);
      const { escrow, actors } = market;
      for (const state of [
        "Funded",
        "Delivered",
        "Released",
        "Refunded",
        "Disputed",
        "Resolved",
        "Abandoned",
      ] as const) {
        const { escrowId } = await dealIn(market, state);
        for (const buyer of [actors.buyer, actors.otherBuyer]) {
          await expect(sendCreate(market, await termsOf(market, { escrowId }), buyer))
            .to.be.revertedWithCustomError(escrow, "EscrowAlreadyExists")
            .withArgs(escrowId);
        }
      }
    });
  });
});
