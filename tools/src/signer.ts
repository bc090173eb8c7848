import type { Deal, Listing, TransactionWithActions } from "../../sdk/src/index.ts";
import { ToolRefusal } from "./refusal.ts";

/** A move of a deal on chain. `fund` is two calls: the approval and the escrow. */
export type Move =
  "fund" | "submitDelivery" | "accept" | "openDispute" | "finalize" | "claimAbandoned" | "refund" | "resolveExpired";

/** What a caller of `hire` ordered. A signer with limits holds the terms of the deal against it. */
export interface Order {
  intentId: string;
  /** As the service shows it now. */
  listing: Listing;
  /** Symbol of the token. */
  token: string;
  quantity: number;
  request: Record<string, unknown> | undefined;
  criteria: { schema?: Record<string, unknown> | undefined; checks?: string[] | undefined } | undefined;
  deliverWithinSeconds: number | undefined;
}

/** What a move needs. */
export interface MoveOptions {
  timeoutMs: number;
  /** Of `fund`. */
  order?: Order | undefined;
  /** Of `fund`: the largest deposit in token units. */
  maxAmount?: bigint | undefined;
  /** Of `submitDelivery`: the result. */
  payload?: Record<string, unknown> | undefined;
}

/** A call for the caller's wallet to send as it is. */
export interface CallToSign {
  to: string;
  data: string;
  /** Wei. */
  value: string;
  chainId: number;
  description: string;
}

/** What the caller's wallet has to sign, in this order. */
export type SignatureRequest = {
  calls: CallToSign[];
  /** What the calls do, in one sentence. */
  sentence: string;
  /** Last moment for the first of them, ISO 8601; null if they stay open. */
  validUntil: string | null;
};

/** A service as a tool has shown it to the caller. Search doesn't show the seller's wallet. */
export interface ShownService extends Pick<
  Listing,
  "sellerAgentId" | "price" | "priceUnit" | "currency" | "category" | "network"
> {
  serviceId: string;
  sellerAddress?: string | undefined;
}

/** Makes moves on chain, with a wallet of its own or by asking for the caller's. */
export interface Signer {
  /** Takes down what the caller has seen of a service, for a signer that holds a deal against it. */
  noteShown?(service: ShownService): void;
  /**
   * Makes a move that hasn't been made yet, and waits for its block.
   * @returns what has to be signed, or undefined once the move is made
   */
  move(deal: Deal, move: Move, options: MoveOptions): Promise<SignatureRequest | undefined>;
}

/** Signs with the wallet of the deal's agent. Its moves go one after another, so that each sees the one before. */
export function walletSigner(): Signer {
  let last: Promise<unknown> = Promise.resolve();
  return {
    async move(deal, move, options) {
      const turn = last.then(() => send(deal, move, options));
      last = turn.catch(() => undefined);
      await turn;
      return undefined;
    },
  };
}

function send(deal: Deal, move: Move, { timeoutMs, maxAmount, payload = {} }: MoveOptions): Promise<unknown> {
  switch (move) {
    case "fund":
      return deal.fund({ timeoutMs, maxAmount });
    case "submitDelivery":
      return deal.deliver(payload, { timeoutMs });
    case "accept":
      return deal.accept({ timeoutMs });
    case "openDispute":
      return deal.openDispute({ timeoutMs });
    case "finalize":
      return deal.finalize({ timeoutMs });
    case "claimAbandoned":
      return deal.claimAbandoned({ timeoutMs });
    case "refund":
      return deal.refund({ timeoutMs });
    case "resolveExpired":
      return deal.resolveExpired({ timeoutMs });
  }
}

const SENTENCES: Readonly<Record<Move, string>> = {
  fund: "Allows the escrow contract to take the deposit, and pays it into the escrow of this deal.",
  submitDelivery: "Commits to the handed-over result on chain, which starts the buyer's dispute window.",
  accept: "Accepts the delivery and pays the seller.",
  openDispute: "Disputes the delivery, which freezes the deposit until a ruling.",
  finalize: "Pays the seller, because the dispute window has passed.",
  claimAbandoned: "Takes the deposit back without the fee, because nothing was delivered in time.",
  refund: "Declines the job and gives the buyer the deposit back without the fee.",
  resolveExpired: "Ends a dispute that nobody ruled: each party gets half.",
};

/** Signs nothing: it answers with the calls that the service has prepared for the caller's wallet. */
export const callerSigner: Signer = {
  async move(deal, move, { payload }) {
    if (move === "submitDelivery" && payload !== undefined) await deal.handOver(payload);
    const { actions, status } = await deal.read();
    const names: readonly string[] = move === "fund" ? ["approve", "createEscrow"] : [move];
    const found = names.flatMap((name) => actions.filter((action) => action.action === name));
    const calls = found.flatMap((action) => ("to" in action ? [callOf(action)] : []));
    if (calls.length < names.length) throw notPossible(deal.transactionId, move, status);
    return { calls, sentence: SENTENCES[move], validUntil: found[0]?.availableUntil ?? null };
  },
};

function callOf({ to, data, value, chainId, description }: CallToSign): CallToSign {
  return { to, data, value, chainId, description };
}

/** The refusal of a move that the deal's state doesn't allow. */
export function notPossible(dealId: string, move: Move, state: TransactionWithActions["status"]): ToolRefusal {
  return new ToolRefusal({
    code: "not_possible_now",
    message: `The deal is ${state}, and ${move} isn't possible in that state or at this time.`,
    whatToDo: "Read the deal with get_deal; `next` says what is possible and until when.",
    dealId,
  });
}
