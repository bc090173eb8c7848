import { z } from "zod";

import { ContractRevertedError, TimeoutError, TransactionRevertedError } from "../../../sdk/src/index.ts";
import type { Agent, Deal, TransactionStatus, TransactionWithActions } from "../../../sdk/src/index.ts";
import { MAX_WAIT_MS, ownId, POLL_AFTER_SECONDS } from "../context.ts";
import type { ToolContext } from "../context.ts";
import { ToolRefusal } from "../refusal.ts";
import type { Move, MoveOptions, SignatureRequest } from "../signer.ts";
import { nextSteps, otherwise, presentDeal, roleOf } from "./view.ts";

/** The fields that a caller decides by after a move of a deal. */
export const moveOutput = z.looseObject({
  result: z.enum(["done", "pending", "signature_required"]),
  dealId: z.string(),
  state: z.string(),
  txHash: z.string().optional(),
  pollAfterSeconds: z.number().optional(),
  signature: z.looseObject({}).optional(),
});

/** What the chain logs about each move. */
const EVENT_OF: Readonly<Record<Move, TransactionWithActions["timeline"][number]["event"]>> = {
  fund: "EscrowCreated",
  submitDelivery: "DeliverySubmitted",
  accept: "EscrowReleased",
  finalize: "EscrowReleased",
  openDispute: "DisputeOpened",
  claimAbandoned: "EscrowAbandoned",
  refund: "EscrowRefunded",
  resolveExpired: "EscrowResolved",
};

/** How a move ended. `pending`: it may be on its way, and a repeat finds out without making it twice. */
export type Ending =
  { result: "done" } | { result: "pending" } | { result: "signature_required"; signature: SignatureRequest };

/** The time that a call has left, in milliseconds. */
export class Deadline {
  readonly #endsAt: number;

  constructor({ waitMs = MAX_WAIT_MS }: Pick<ToolContext, "waitMs">) {
    this.#endsAt = performance.now() + waitMs;
  }

  get leftMs(): number {
    return Math.max(1, Math.ceil(this.#endsAt - performance.now()));
  }
}

/** Statuses that show that a move has been made. */
export type Reached = readonly TransactionStatus[];
/** Statuses of a deal that has been paid for. */
export const PAID: Reached = ["funded", "delivered", "released", "refunded", "disputed", "resolved", "abandoned"];

/**
 * Makes a move through the context's signer. A move that takes longer than the call may is pending, not failed. If another
 * call or process makes it meanwhile, the chain refuses this one; the move is made all the same.
 */
export async function settle(
  { signer }: ToolContext,
  deal: Deal,
  { move, reached }: { move: Move; reached: Reached },
  options: MoveOptions,
): Promise<Ending> {
  const attempt = async (): Promise<Ending> => {
    const signature = await signer.move(deal, move, options);
    return signature === undefined ? { result: "done" } : { result: "signature_required", signature };
  };
  try {
    try {
      return await attempt();
    } catch (error) {
      const isOfContract = error instanceof ContractRevertedError || error instanceof TransactionRevertedError;
      if (!isOfContract && !(error instanceof ToolRefusal)) throw error;
      if (reached.includes((await deal.read()).status)) return { result: "done" };
      // The service may not know yet what the chain does. The client asks the chain before it sends anything.
      if (isOfContract) return await attempt();
      throw error;
    }
  } catch (error) {
    if (error instanceof TimeoutError) return { result: "pending" };
    throw error;
  }
}

/** The deal after a move, with how the move ended and the hash of the transaction that made it. */
export async function presentMoved(agent: Agent, record: TransactionWithActions, move: Move, ending: Ending) {
  const id = await ownId(agent);
  const txHash = record.timeline.findLast(({ event }) => event === EVENT_OF[move])?.txHash ?? undefined;
  return {
    ...ending,
    ...presentDeal(record, id),
    ...(txHash === undefined ? {} : { txHash }),
    ...(ending.result === "pending" ? { pollAfterSeconds: POLL_AFTER_SECONDS } : {}),
    next: nextSteps(record),
    otherwise: otherwise(record, roleOf(record, id)),
  };
}
