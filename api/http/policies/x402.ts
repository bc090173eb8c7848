import type { Next, RouteResponse, Step, ValidatedContext } from "../pipeline.ts";
import { RECEIPT_HEADERS } from "../response-headers.ts";

/** Decides what a call costs, and takes payments. */
export interface PaymentGate {
  /** Runs the call if it costs nothing or is paid for; otherwise answers 402. */
  pass(context: ValidatedContext, next: Next): Promise<RouteResponse>;
}

/**
 * Asks for a payment where the budget is exhausted, and for a prepaid pack. It comes
 * directly before the handler: what is refused before is never paid for. A proof on a call that costs nothing is neither
 * verified nor spent.
 * @param drainEnd no call with a proof goes on after it
 */
export function x402(gate: PaymentGate, drainEnd: AbortSignal): Step<ValidatedContext> {
  return async (context, next) => {
    const mayBePaid = PROOF_HEADERS.some((name) => context.headers[name] !== undefined);
    // The caller has had a 503 by then. As if the process had been killed here, the payment stays reserved for the request's
    // repeat until its lease ends: settling would take money for no answer, and failing would forget what the call has done.
    const stopAfterDrain = () => (mayBePaid && drainEnd.aborted ? new Promise<never>(() => undefined) : undefined);
    let runs = 0;
    const answer = await gate.pass(context, async () => {
      runs += 1;
      await stopAfterDrain();
      const produced = await next();
      await stopAfterDrain();
      return produced;
    });
    if (runs > 0 || !context.route.provisional.includes(answer.status)) return answer;
    // An earlier request has paid, and all it was told is "not yet".
    const current = await next();
    const { onSending } = answer;
    const headers = { ...current.headers, ...receiptOf(answer) };
    return { ...current, headers, ...(onSending === undefined ? {} : { onSending }) };
  };
}

/** Headers that carry a payment, in both versions of x402. */
const PROOF_HEADERS = ["x-payment", "payment-signature"];

function receiptOf({ headers }: RouteResponse): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => RECEIPT_HEADERS.includes(name)));
}
