import { expect } from "chai";
import { solidityPackedKeccak256 } from "ethers";

import { FAR_DEADLINE, signAgreement } from "../../fixtures/agreements.ts";
import { ethers, loadFixture, networkHelpers } from "../../fixtures/chain.ts";
import { Outcome, RATIONALE, delivered, disputed, funded, moveTo, termsOf } from "../../fixtures/deals.ts";
import { demandingMarketplace } from "../../fixtures/hostile.ts";

/** Gas that a payout and a score update are given (ProtocolConstants), with the 63/64 rule and the call's own cost. */
const PAYOUT_REQUIRED = 200_000n + 200_000n / 63n + 3_000n;
const SCORE_REQUIRED = 150_000n + 150_000n / 63n + 3_000n;
/** Seen from outside, the gas of a transaction; the steps are finer than what the guard asks for beyond the call's gas. */
const STEP = 1_000n;
/** EscrowStorage: ERC-7201, and the place of the records in it. */
const ESCROW_STORAGE = 0x96c5879cbfbd63a51be880377b7967994a4ebdbf41791ed2976aa04d1f493000n;
const ESCROWS_FIELD = 3n;
const FEE = 20_000n;
const LOCKED = 980_000n;

type DemandingMarket = Awaited<ReturnType<typeof demandingMarketplace>>;

/** A transaction that is ready to be sent, and what it must have done when it goes through. */
interface Attempt {
  send: (gasLimit: bigint) => Promise<unknown>;
  /** Token units that each wallet must have gained. */
  paid: { buyer: bigint; seller: bigint; treasury: bigint };
  /** Score updates that must have been recorded. */
  scored: bigint;
}

interface Subject {
  name: string;
  prepare: (market: DemandingMarket) => Promise<Attempt>;
  /** What the guard asks for where it stops the transaction. */
  required: bigint;
}

const nobody = { buyer: 0n, seller: 0n, treasury: 0n };
const toBuyer = { ...nobody, buyer: LOCKED };
const toSeller = { ...nobody, seller: LOCKED };
const toBoth = { ...nobody, buyer: LOCKED / 2n, seller: LOCKED / 2n };
const toTreasury = { buyer: -(FEE + LOCKED), seller: 0n, treasury: FEE };

const SUBJECTS: Subject[] = [
  {
    name: "accept",
    prepare: async (market) => {
      const { escrowId } = await delivered(market, market.inToken);
      const contract = market.escrow.connect(market.actors.buyer);
      return { send: (gasLimit) => contract.accept(escrowId, { gasLimit }), paid: toSeller, scored: 1n };
    },
    required: PAYOUT_REQUIRED,
  },
  {
    // A record of one unit has nothing locked, so that no payout comes before the score update. No listed token takes
    // such a deposit, so the test writes it.
    name: "accept of an escrow that pays nothing",
    prepare: async (market) => {
      const { escrowId } = await delivered(market, market.inToken);
      await shrink(market, escrowId);
      const contract = market.escrow.connect(market.actors.buyer);
      return { send: (gasLimit) => contract.accept(escrowId, { gasLimit }), paid: nobody, scored: 1n };
    },
    required: SCORE_REQUIRED,
  },
  {
    name: "finalize",
    prepare: async (market) => {
      const { escrowId, windowEnd } = await delivered(market, market.inToken);
      await moveTo(windowEnd + 1n);
      const contract = market.escrow.connect(market.actors.stranger);
      return { send: (gasLimit) => contract.finalize(escrowId, { gasLimit }), paid: toSeller, scored: 1n };
    },
    required: PAYOUT_REQUIRED,
  },
  {
    name: "refund",
    prepare: async (market) => {
      const { escrowId } = await funded(market, market.inToken);
      const contract = market.escrow.connect(market.actors.seller);
      return { send: (gasLimit) => contract.refund(escrowId, { gasLimit }), paid: toBuyer, scored: 0n };
    },
    required: PAYOUT_REQUIRED,
  },
  {
    name: "refundMany",
    prepare: async (market) => {
      const deals = [await funded(market, market.inToken), await funded(market, market.inToken)];
      const ids = deals.map(({ escrowId }) => escrowId);
      const contract = market.escrow.connect(market.actors.seller);
      const paid = { ...nobody, buyer: 2n * LOCKED };
      return { send: (gasLimit) => contract.refundMany(ids, { gasLimit }), paid, scored: 0n };
    },
    required: PAYOUT_REQUIRED,
  },
  {
    name: "claimAbandoned",
    prepare: async (market) => {
      const { escrowId, graceEnd } = await funded(market, market.inToken);
      await moveTo(graceEnd + 1n);
      const contract = market.escrow.connect(market.actors.buyer);
      return { send: (gasLimit) => contract.claimAbandoned(escrowId, { gasLimit }), paid: toBuyer, scored: 1n };
    },
    required: PAYOUT_REQUIRED,
  },
  {
    name: "a ruling with a split",
    prepare: async (market) => {
      const { escrowId } = await disputed(market, market.inToken);
      const contract = market.resolver.connect(market.actors.systemResolver);
      const send = (gasLimit: bigint) => contract.resolveBySystem(escrowId, Outcome.Split, RATIONALE, { gasLimit });
      return { send, paid: toBoth, scored: 1n };
    },
    required: PAYOUT_REQUIRED,
  },
  {
    name: "resolveByAgreement",
    prepare: async (market) => {
      const { resolver, actors } = market;
      const { escrowId } = await disputed(market, market.inToken);
      const signatures: [string, string] = [
        await signAgreement(market, actors.buyer, escrowId, 50n),
        await signAgreement(market, actors.seller, escrowId, 50n),
      ];
      const contract = resolver.connect(actors.stranger);
      const send = (gasLimit: bigint) =>
        contract.resolveByAgreement(escrowId, 50n, FAR_DEADLINE, signatures, { gasLimit });
      return { send, paid: toBoth, scored: 1n };
    },
    required: PAYOUT_REQUIRED,
  },
  {
    name: "resolveExpired",
    prepare: async (market) => {
      const { escrowId, expiresAt } = await disputed(market, market.inToken);
      await moveTo(expiresAt + 1n);
      const contract = market.escrow.connect(market.actors.stranger);
      return { send: (gasLimit) => contract.resolveExpired(escrowId, { gasLimit }), paid: toBoth, scored: 1n };
    },
    required: PAYOUT_REQUIRED,
  },
  {
    name: "createEscrow",
    prepare: async (market) => {
      const terms = await termsOf(market, market.inToken);
      const { escrowId, seller, amount, token, deadline, disputeWindow, abandonmentGrace, criteriaHash } = terms;
      const contract = market.escrow.connect(market.actors.buyer);
      const send = (gasLimit: bigint) =>
        contract.createEscrow(
          escrowId,
          seller,
          amount,
          token,
          deadline,
          disputeWindow,
          abandonmentGrace,
          criteriaHash,
          { gasLimit },
        );
      return { send, paid: toTreasury, scored: 0n };
    },
    required: PAYOUT_REQUIRED,
  },
  {
    name: "createEscrowWithAuthorization",
    prepare: async (market) => {
      const terms = await termsOf(market, market.inToken);
      const contract = market.escrow.connect(market.actors.stranger);
      const send = (gasLimit: bigint) =>
        contract.createEscrowWithAuthorization(terms, 0n, terms.deadline, "0x", { gasLimit });
      return { send, paid: toTreasury, scored: 0n };
    },
    required: PAYOUT_REQUIRED,
  },
];

/** Makes the stored amount of an escrow one unit: the top 52 bits of its second slot (`StoredEscrow`). */
async function shrink({ escrow }: DemandingMarket, escrowId: string): Promise<void> {
  const record = BigInt(solidityPackedKeccak256(["bytes32", "uint256"], [escrowId, ESCROW_STORAGE + ESCROWS_FIELD]));
  const address = await escrow.getAddress();
  const word = BigInt(await ethers.provider.getStorage(address, record + 1n));
  await networkHelpers.setStorageAt(address, record + 1n, (word & (2n ** 204n - 1n)) | (1n << 204n));
  expect((await escrow.getEscrow(escrowId)).amount).to.equal(1n);
}

/** Token units of every wallet, and how many updates the score contract has. */
async function holdings({ token, demanding, actors }: DemandingMarket) {
  return {
    buyer: await token.balanceOf(actors.buyer),
    seller: await token.balanceOf(actors.seller),
    treasury: await token.balanceOf(actors.treasury),
    scored: await demanding.recorded(),
  };
}

/** Sends the attempt with so much gas and undoes it: true when it went through, in full. */
async function goesThrough(market: DemandingMarket, attempt: Attempt, gasLimit: bigint): Promise<boolean> {
  const { escrow, token, actors } = market;
  const before = await holdings(market);
  const snapshot = await networkHelpers.takeSnapshot();
  const sent = await attempt.send(gasLimit).then(
    () => true,
    () => false,
  );
  if (sent) {
    const { buyer, seller, treasury, scored } = await holdings(market);
    const gained = {
      buyer: buyer - before.buyer,
      seller: seller - before.seller,
      treasury: treasury - before.treasury,
    };
    expect(gained, `paid with ${gasLimit} gas`).to.deep.equal(attempt.paid);
    expect(scored - before.scored, `scored with ${gasLimit} gas`).to.equal(attempt.scored);
    for (const party of [actors.buyer, actors.seller, actors.treasury]) {
      expect(await escrow.creditOf(party, token), `credit with ${gasLimit} gas`).to.equal(0n);
    }
    const failures = await escrow.queryFilter(escrow.filters.ScoreUpdateFailed(), "latest");
    expect(failures, `failed update with ${gasLimit} gas`).to.deep.equal([]);
  }
  await snapshot.restore();
  return sent;
}

describe("Calls that pay or score, with too little gas", () => {
  for (const { name, prepare, required } of SUBJECTS) {
    it(`${name} either reverts or pays and scores in full, whatever gas its caller sends [D9]`, async () => {
      const market = await loadFixture(demandingMarketplace);
      const attempt = await prepare(market);
      let [tooLittle, enough] = [0n, 0n];
      for (let gasLimit = 40_000n; gasLimit <= 700_000n; gasLimit += 20_000n) {
        if (await goesThrough(market, attempt, gasLimit)) enough ||= gasLimit;
        else tooLittle = gasLimit;
      }
      expect(tooLittle, "some gas does not suffice").to.be.greaterThan(0n);
      expect(enough, "some gas does, and all above it").to.equal(tooLittle + 20_000n);

      // Where one gives way to the other, in steps that no gap of the guard slips through.
      for (let gasLimit = tooLittle - 20_000n; gasLimit <= tooLittle + 40_000n; gasLimit += STEP) {
        if (await goesThrough(market, attempt, gasLimit)) enough = enough < gasLimit ? enough : gasLimit;
      }
      await expect(attempt.send(enough - STEP))
        .to.be.revertedWithCustomError(market.escrow, "InsufficientGas")
        .withArgs((available: bigint) => available < required && available > required - 2n * STEP, required);
    });
  }
});
