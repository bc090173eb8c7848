import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import { expect } from "chai";

import { loadFixture } from "../../fixtures/chain.ts";
import type { Deal, StateName } from "../../fixtures/deals.ts";
import { Method, Outcome, PROOF, RATIONALE, ResolvedBy, State, dealIn, moveTo, now } from "../../fixtures/deals.ts";
import type { Marketplace } from "../../fixtures/marketplace.ts";
import { impersonate, marketplace } from "../../fixtures/marketplace.ts";

/** A refusal: the name of the error and its arguments. */
type Refusal = [error: string, ...args: unknown[]];

interface Moment {
  title: string;
  second: bigint;
}

interface Move {
  name: string;
  /** The state that the move starts from. */
  from: StateName;
  cites: string;
  call: (market: Marketplace, caller: HardhatEthersSigner, deal: Deal) => Promise<unknown>;
  /** Why a caller may not make the move, or undefined. */
  caller: (market: MatrixMarket, caller: HardhatEthersSigner) => Refusal | undefined;
  /** Why the move is closed at a second, or undefined. */
  time: (deal: Deal, second: bigint) => Refusal | undefined;
}

interface MatrixMarket extends Marketplace {
  callers: Record<string, HardhatEthersSigner>;
}

const anyone = (): undefined => undefined;
const anytime = (): undefined => undefined;
const buyerOnly = ({ actors }: MatrixMarket, caller: HardhatEthersSigner): Refusal | undefined =>
  caller.address === actors.buyer.address ? undefined : ["CallerNotBuyer", caller.address, actors.buyer.address];
const sellerOnly = ({ actors }: MatrixMarket, caller: HardhatEthersSigner): Refusal | undefined =>
  caller.address === actors.seller.address ? undefined : ["CallerNotSeller", caller.address, actors.seller.address];
const resolverOnly = ({ resolver, callers }: MatrixMarket, caller: HardhatEthersSigner): Refusal | undefined =>
  caller.address === callers["resolver contract"]?.address
    ? undefined
    : ["CallerNotResolverContract", caller.address, resolver.target];

/** The table of specification section 3.2 and decisions 6 to 8: every move but the creation. */
const MOVES: Move[] = [
  {
    name: "submitDelivery",
    from: "Funded",
    cites: "[S3.2.07] [S3.2.08]",
    call: ({ escrow }, caller, { escrowId }) => escrow.connect(caller).submitDelivery.staticCall(escrowId, PROOF),
    caller: sellerOnly,
    time: ({ deadline }, second) => (second > deadline ? ["DeadlinePassed", second, deadline] : undefined),
  },
  {
    name: "refund",
    from: "Funded",
    cites: "[D6]",
    call: ({ escrow }, caller, { escrowId }) => escrow.connect(caller).refund.staticCall(escrowId),
    caller: sellerOnly,
    time: ({ graceEnd }, second) => (second > graceEnd ? ["AbandonmentGraceElapsed", second, graceEnd] : undefined),
  },
  {
    name: "refundMany",
    from: "Funded",
    cites: "[D6]",
    call: ({ escrow }, caller, { escrowId }) => escrow.connect(caller).refundMany.staticCall([escrowId]),
    caller: sellerOnly,
    time: ({ graceEnd }, second) => (second > graceEnd ? ["AbandonmentGraceElapsed", second, graceEnd] : undefined),
  },
  {
    name: "claimAbandoned",
    from: "Funded",
    cites: "[S3.2.11] [S3.2.12]",
    call: ({ escrow }, caller, { escrowId }) => escrow.connect(caller).claimAbandoned.staticCall(escrowId),
    caller: buyerOnly,
    time: ({ graceEnd }, second) => (second <= graceEnd ? ["AbandonmentGraceOpen", second, graceEnd] : undefined),
  },
  {
    name: "accept",
    from: "Delivered",
    cites: "[S3.2.17] [S3.2.18]",
    call: ({ escrow }, caller, { escrowId }) => escrow.connect(caller).accept.staticCall(escrowId),
    caller: buyerOnly,
    time: ({ windowEnd }, second) => (second > windowEnd ? ["DisputeWindowElapsed", second, windowEnd] : undefined),
  },
  {
    name: "openDispute",
    from: "Delivered",
    cites: "[S3.2.24] [S3.2.25]",
    call: ({ escrow }, caller, { escrowId }) => escrow.connect(caller).openDispute.staticCall(escrowId),
    caller: buyerOnly,
    time: ({ windowEnd }, second) => (second > windowEnd ? ["DisputeWindowElapsed", second, windowEnd] : undefined),
  },
  {
    name: "finalize",
    from: "Delivered",
    cites: "[S3.2.22]",
    call: ({ escrow }, caller, { escrowId }) => escrow.connect(caller).finalize.staticCall(escrowId),
    caller: anyone,
    time: ({ windowEnd }, second) => (second <= windowEnd ? ["DisputeWindowOpen", second, windowEnd] : undefined),
  },
  {
    name: "resolve",
    from: "Disputed",
    cites: "[D8]",
    call: ({ escrow }, caller, { escrowId }) =>
      escrow
        .connect(caller)
        .resolve.staticCall(escrowId, Outcome.Split, 50, 50, ResolvedBy.System, Method.Ruling, RATIONALE),
    caller: resolverOnly,
    time: anytime,
  },
  {
    name: "resolveExpired",
    from: "Disputed",
    cites: "[D8]",
    call: ({ escrow }, caller, { escrowId }) => escrow.connect(caller).resolveExpired.staticCall(escrowId),
    caller: anyone,
    time: ({ expiresAt }, second) => (second <= expiresAt ? ["ResolutionNotExpired", second, expiresAt] : undefined),
  },
];

const STATES: [state: StateName, cites: string][] = [
  ["None", "[S7.29] [S3.2.41]"],
  ["Funded", "[S3.2.41]"],
  ["Delivered", "[S3.2.41]"],
  ["Released", "[S3.2.37]"],
  ["Refunded", "[S3.2.38]"],
  ["Disputed", "[S3.2.41]"],
  ["Resolved", "[S3.2.39]"],
  ["Abandoned", "[S3.2.40]"],
];

/**
 * Seconds on both sides of every end that a deal of the state had before it, in the order in which they come. An end that
 * has passed when the deal enters its state, or that never began, is no boundary of it; None has none at all.
 */
function momentsOf(deal: Deal, start: bigint): Moment[] {
  const ends: [title: string, last: bigint][] = [
    ["deadline", deal.deadline],
    ["end of the grace", deal.graceEnd],
    ["end of the window", deal.windowEnd],
    ["30th day", deal.expiresAt],
  ];
  if (deal.createdAt === 0n) return [];
  return ends
    .filter(([, last]) => last > start)
    .sort(([, one], [, other]) => Number(one - other))
    .flatMap(([title, last]) => [
      { title: `at the ${title}`, second: last },
      { title: `one second after the ${title}`, second: last + 1n },
    ]);
}

async function matrixMarket(): Promise<MatrixMarket> {
  const market = await marketplace();
  const contracts = {
    "resolver contract": await impersonate(await market.resolver.getAddress()),
    "score contract": await impersonate(await market.score.getAddress()),
  };
  return { ...market, callers: { ...market.actors, ...contracts } };
}

/** What the table says of one attempt. */
function expectedRefusal(
  market: MatrixMarket,
  move: Move,
  state: StateName,
  caller: HardhatEthersSigner,
  deal: Deal,
  second: bigint,
) {
  if (state === "None") return ["EscrowNotFound", deal.escrowId] satisfies Refusal;
  if (state !== move.from) {
    return ["EscrowNotInState", deal.escrowId, State[state], State[move.from]] satisfies Refusal;
  }
  return move.caller(market, caller) ?? move.time(deal, second);
}

describe("Moves of an escrow, by every caller in every state at every boundary", () => {
  for (const [state, stateCites] of STATES) {
    for (const move of MOVES) {
      const frozen = state === "Disputed" && ["accept", "finalize", "claimAbandoned"].includes(move.name);
      const claimsDelivered = state === "Delivered" && move.name === "claimAbandoned";
      const closed = frozen ? `[S3.2.26] ${stateCites}` : claimsDelivered ? `[S3.2.13] ${stateCites}` : stateCites;
      const cites = state === move.from ? move.cites : closed;
      it(`${move.name} from ${state} is possible exactly when the table says so ${cites}`, async () => {
        const market = await loadFixture(matrixMarket);
        const deal = await dealIn(market, state);
        const start: Moment = { title: "at once", second: await now() };
        for (const { title, second } of [start, ...momentsOf(deal, start.second)]) {
          if (second > (await now())) await moveTo(second);
          for (const [name, caller] of Object.entries(market.callers)) {
            const refusal = expectedRefusal(market, move, state, caller, deal, second);
            const attempt = move.call(market, caller, deal);
            const context = `${name}, ${title}`;
            if (refusal === undefined) {
              await attempt.catch((error: unknown) => {
                throw new Error(`${context}: refused although open`, { cause: error });
              });
            } else {
              const [error, ...args] = refusal;
              await expect(attempt, context)
                .to.be.revertedWithCustomError(market.escrow, error)
                .withArgs(...args);
            }
          }
        }
      });
    }

    it(`retryScore from ${state} is refused to everyone, for no update is outstanding`, async () => {
      const market = await loadFixture(matrixMarket);
      const { escrow, callers } = market;
      const deal = await dealIn(market, state);
      for (const { title, second } of [{ title: "at once", second: await now() }, ...momentsOf(deal, await now())]) {
        if (second > (await now())) await moveTo(second);
        for (const [name, caller] of Object.entries(callers)) {
          await expect(escrow.connect(caller).retryScore.staticCall(deal.escrowId), `${name}, ${title}`)
            .to.be.revertedWithCustomError(escrow, "NoScorePending")
            .withArgs(deal.escrowId);
        }
      }
    });
  }
});
