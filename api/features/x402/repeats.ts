import type { Network } from "../../config/constants.ts";
import type { Caller } from "../../http/define-route.ts";
import { ApiError } from "../../http/errors.ts";
import type { RouteResponse, ValidatedContext } from "../../http/pipeline.ts";
import type { Claims } from "./settling/claims.ts";
import type { PaymentResponses } from "./offer/payment-responses.ts";
import type { ClaimRecord, ClaimState } from "./model.ts";
import { ProofRefusedError, readProof } from "./offer/proof.ts";
import type { Proof } from "./offer/proof.ts";
import { toCall, isRepeat } from "./payment-attempt.ts";
import type { Call } from "./payment-attempt.ts";

const PAID_STATES: ReadonlySet<ClaimState> = new Set(["settled", "spent"]);

/** Dependencies of repeats. */
interface RepeatsDeps {
  network: Network;
  responses: PaymentResponses;
  claims: Claims;
  now: () => Date;
}

/** Answers repeats of paid calls with the stored answers. */
export class Repeats {
  readonly #network: Network;
  readonly #responses: PaymentResponses;
  readonly #claims: Claims;
  readonly #now: () => Date;

  constructor({ network, responses, claims, now }: RepeatsDeps) {
    this.#network = network;
    this.#responses = responses;
    this.#claims = claims;
    this.#now = now;
  }

  /**
   * The answer that a payment has paid for; undefined if this isn't a repeat of its call, or if the answer isn't stored.
   * @param all the claims of the payment: several transfers of one transaction may have paid for the same call
   */
  async sentAnswer(call: Call, all: readonly ClaimRecord[], proof: Proof): Promise<RouteResponse | undefined> {
    const paid = all.filter((claim) => PAID_STATES.has(claim.state) && isRepeat(claim, call, proof));
    const last = paid.sort((one, other) => timeOf(other) - timeOf(one))[0];
    const stored = last === undefined ? undefined : await this.#claims.answerOf(last);
    return last === undefined || stored === undefined ? undefined : this.#responses.addReceipt(stored, last);
  }

  /** The same for a call that needs no payment, because there is budget again. Ignores any other proof. */
  async freeAnswer(context: ValidatedContext, caller: Caller): Promise<RouteResponse | undefined> {
    const network = this.#network;
    const { token } = this.#responses;
    const proof = proofIn(context, network);
    if (proof === undefined || token === undefined) return undefined;
    const call = toCall(context, caller, this.#now());
    if (proof.kind === "transfer") {
      return this.sentAnswer(call, await this.#claims.findByTransfer(network, proof.txHash), proof);
    }
    const { from, nonce } = proof.authorization;
    const claim = await this.#claims.findByNonce(network, token.toLowerCase(), from, nonce);
    return claim === null ? undefined : this.sentAnswer(call, [claim], proof);
  }
}

const timeOf = ({ spentAt }: ClaimRecord): number => spentAt?.getTime() ?? 0;

/** The proof of a request that needs no payment; undefined without a readable one. */
function proofIn({ headers }: ValidatedContext, network: Network): Proof | undefined {
  try {
    return readProof(headers, network)?.proof;
  } catch (error) {
    if (error instanceof ProofRefusedError || error instanceof ApiError) return undefined;
    throw error;
  }
}
