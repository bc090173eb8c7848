import type { Count, Metrics } from "../../lib/metrics.ts";
import type { ClaimRecord } from "./model.ts";
import type { Settlement } from "./settling/settlement.ts";

/** Counters of payments and settlement attempts in this process. */
export class PaymentCounters {
  readonly #payments: Count<"scheme" | "sold">;
  readonly #units: Count<"scheme" | "network">;
  readonly #settlements: Count<"outcome" | "reason">;

  constructor(metrics: Pick<Metrics, "addCounter">) {
    this.#payments = metrics.addCounter({
      name: "x402_payments_total",
      help: "Confirmed payments, by the scheme of their proof and what they have paid for: a call or a pack",
      labels: ["scheme", "sold"],
    });
    this.#units = metrics.addCounter({
      name: "x402_paid_usdc_units_total",
      help: "Units of USDC (a millionth of a dollar) of confirmed payments, by scheme and network",
      labels: ["scheme", "network"],
    });
    this.#settlements = metrics.addCounter({
      name: "x402_settlements_total",
      help: "Attempts to settle signed payments: settled, pending (the outcome is unknown) or failed, with the reason",
      labels: ["outcome", "reason"],
    });
  }

  /** A payment is confirmed. Exactly one process calls this for a payment. */
  paid(claim: ClaimRecord): void {
    const scheme = schemeOf(claim);
    this.#payments({ scheme, sold: claim.pack === undefined ? "call" : "pack" });
    // Exact up to 9 billion dollars.
    this.#units({ scheme, network: claim.network }, Number(claim.amount));
  }

  /** An attempt to settle a signed payment has ended. */
  settlement(settlement: Settlement): void {
    const reason = settlement.kind === "failed" ? settlement.reason : "";
    this.#settlements({ outcome: settlement.kind, reason });
  }
}

function schemeOf({ payment }: ClaimRecord): string {
  return payment === undefined ? "transfer" : `exact_v${payment.version}`;
}
