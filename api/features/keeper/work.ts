import { encodeFunctionData, zeroAddress } from "viem";
import type { Abi, Hex } from "viem";

import { escrowAbi, scoreAbi } from "../../chain/abis.ts";
import type { Deployment } from "../../chain/deployment.ts";
import type { Obstacle } from "../../chain/sending/problems.ts";
import type { Budget, Work } from "../../chain/sending/work.ts";
import type { Revert, SendingChain } from "../../chain/sending-chain.ts";
import type { TransactionSigner } from "../../chain/signer.ts";
import { EVENT_SEARCH_BLOCKS } from "../../config/constants.ts";
import type { KeeperMove, KeeperOrderRecord, KeeperProblem } from "./model.ts";

/** The escrow contract's functions and errors, with the errors of the score contract that it calls. */
export const keeperAbi: Abi = [...escrowAbi, ...scoreAbi.filter(({ type }) => type === "error")];

/** Codes of escrow states. */
const STATE = { none: 0, funded: 1, delivered: 2, disputed: 5 } as const;

/** The states of an escrow that hasn't ended. Only an end can leave scores to be written. */
const OPEN: readonly number[] = Object.values(STATE);

/** The states before the one that a move starts from. From every later one there is nothing left to do. */
const EARLIER: Readonly<Record<"finalize" | "resolveExpired", readonly number[]>> = {
  finalize: [STATE.funded],
  resolveExpired: [STATE.funded, STATE.delivered],
};

/** The event of each move. An acceptance and an automatic release share one. */
const EVENT_OF = {
  finalize: "EscrowReleased",
  resolveExpired: "EscrowResolved",
  retryScore: "ScoreUpdateRetried",
} as const satisfies Record<KeeperMove, string>;

/**
 * Classifies a failed simulation of a move by the contract's custom error. That no score is pending says only that there is
 * nothing to write now: the settlement may be missing.
 */
export function toObstacle(move: KeeperMove, { name, args }: Revert): Obstacle<KeeperProblem> {
  const problem = (found: KeeperProblem): Obstacle<KeeperProblem> => ({
    kind: "problem",
    problem: found,
    detail: `${name}(${args.map(String).join(", ")})`,
  });
  if (move === "retryScore") {
    if (name === "NoScorePending") return problem("not_in_state");
    return problem(name === "InsufficientGas" ? "unexpected" : "score_fails");
  }
  switch (name) {
    case "EscrowNotInState":
      return EARLIER[move].includes(Number(args[1])) ? problem("not_in_state") : { kind: "done" };
    case "EscrowNotFound":
      return problem("not_in_state");
    case "DisputeWindowOpen":
    case "ResolutionNotExpired":
      return problem("too_early");
    default:
      return problem("unexpected");
  }
}

/** Dependencies of the moves of one network. */
export interface KeeperWorkDeps {
  chain: SendingChain;
  deployment: Pick<Deployment, "escrow">;
  /** Undefined where this service has no key. */
  signer: TransactionSigner | undefined;
  budget: Budget<KeeperOrderRecord>;
}

/** The keeper's moves as calls of the escrow contract. */
export function createKeeperWork({ chain, deployment, signer, budget }: KeeperWorkDeps): Work<KeeperOrderRecord> {
  const { escrow } = deployment;
  const buildCall = ({ move, escrowId }: Pick<KeeperOrderRecord, "move" | "escrowId">) => ({
    to: escrow,
    data: encodeFunctionData({ abi: escrowAbi, functionName: move, args: [escrowId] }),
  });

  async function hasEnded(escrowId: Hex, blockNumber: number | undefined): Promise<boolean> {
    const { state } = await chain.read((client) =>
      client.readContract({
        address: escrow,
        abi: escrowAbi,
        functionName: "getEscrow",
        args: [escrowId],
        ...(blockNumber === undefined ? {} : { blockNumber: BigInt(blockNumber) }),
      }),
    );
    return !OPEN.includes(state);
  }

  return {
    noun: "move",
    factsOf: ({ move, escrowId }) => ({ move, escrowId }),
    signerOf: () => signer,
    buildCall,
    budget,

    async obstacle(order, { from = zeroAddress, blockNumber }) {
      const revert = await chain.simulate({ from, ...buildCall(order) }, blockNumber);
      if (revert === undefined) return undefined;
      // A reorganisation may have removed the settlement, and its successor may fail to write the scores again.
      const isWritten = revert.name === "NoScorePending" && (await hasEnded(order.escrowId, blockNumber));
      return isWritten ? { kind: "done" } : toObstacle(order.move, revert);
    },

    toObstacle: ({ move }, revert) => toObstacle(move, revert),

    async findConclusion({ move, escrowId }, head) {
      const [log] = await chain.read((client) =>
        client.getContractEvents({
          address: escrow,
          abi: escrowAbi,
          eventName: EVENT_OF[move],
          args: { escrowId },
          fromBlock: BigInt(Math.max(0, head - EVENT_SEARCH_BLOCKS)),
          toBlock: "latest",
        }),
      );
      if (log === undefined) return undefined;
      return { txHash: log.transactionHash, blockNumber: Number(log.blockNumber), isOurs: false };
    },
  };
}

/** The escrows whose score update failed in a range of blocks. It may have been repeated since. */
export async function failedScoreUpdates(
  chain: SendingChain,
  { escrow }: Pick<Deployment, "escrow">,
  { fromBlock, toBlock }: { fromBlock: number; toBlock: number },
): Promise<Hex[]> {
  const logs = await chain.read((client) =>
    client.getContractEvents({
      address: escrow,
      abi: escrowAbi,
      eventName: "ScoreUpdateFailed",
      fromBlock: BigInt(fromBlock),
      toBlock: BigInt(toBlock),
    }),
  );
  return logs.flatMap(({ args: { escrowId } }) => escrowId ?? []);
}
