import type { Answer, Next, Step, ValidatedContext } from "../pipeline.ts";

/** Decides what a call costs, and takes payments. */
export interface PaymentGate {
  /** Runs the call if it costs nothing or is paid for; otherwise answers 402. */
  pass(context: ValidatedContext, next: Next): Promise<Answer>;
}

/**
 * Asks for a payment where the budget is exhausted, and for a prepaid pack (section 8.3, decisions 36 and 46). It comes
 * directly before the handler: what is refused before is never paid for. A proof on a call that costs nothing is neither
 * verified nor spent.
 */
export function x402(gate: PaymentGate): Step<ValidatedContext> {
  return (context, next) => gate.pass(context, next);
}
