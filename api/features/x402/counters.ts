import type { Metrics } from "../../lib/metrics.ts";
import type { ClaimRecord } from "./model.ts";
import type { Settlement } from "./settling/settlement.ts";

/** Counters of payments and settlement attempts in this process. */
export interface PaymentCounters {
  /** A payment is confirmed. Exactly one process calls this for a payment. */
  paid: (claim: ClaimRecord) => void;
  /** An attempt to settle a signed payment has ended. */
  settlement: (settlement: Settlement) => void;
}

/** Creates the counters of payments. */
export function createPaymentCounters(metrics: Pick<Metrics, "addCounter">): PaymentCounters {
  const payments = metrics.addCounter({
    name: "x402_payments_total",
    help: "Confirmed payments, by the scheme of their proof and what they have paid for: a call or a pack",
    labels: ["scheme", "sold"],
  });
  const units = metrics.addCounter({
    name: "x402_paid_usdc_units_total",
    help: "Units of USDC (a millionth of a dollar) of confirmed payments, by scheme and network",
    labels: ["scheme", "network"],
  });
  const settlements = metrics.addCounter({
    name: "x402_settlements_total",
    help: "Attempts to settle signed payments: settled, pending (the outcome is unknown) or failed, with the reason",
    labels: ["outcome", "reason"],
  });
  return {
    paid(claim) {
      const scheme = schemeOf(claim);
      payments({ scheme, sold: claim.pack === undefined ? "call" : "pack" });
      // Exact up to 9 billion dollars.
      units({ scheme, network: claim.network }, Number(claim.amount));
    },
    settlement(settlement) {
      settlements({ outcome: settlement.kind, reason: settlement.kind === "failed" ? settlement.reason : "" });
    },
  };
}

function schemeOf({ payment }: ClaimRecord): string {
  return payment === undefined ? "transfer" : `exact_v${payment.version}`;
}
