import { X402_PRICES_USD } from "../../config/constants.ts";
import { paymentRequiredBody } from "../payment-required.ts";
import type { Step, ValidatedContext } from "../pipeline.ts";

const NO_PAYEE = `0x${"0".repeat(40)}` as const;

/** Refuses a call whose budget is exhausted (section 8.3): without payments, its caller waits for the reset. */
export const refuseExhausted: Step<ValidatedContext> = async ({ budget }, next) => {
  if (budget?.exhausted !== true) return next();
  return {
    status: 402,
    type: "application/json",
    headers: {},
    body: JSON.stringify(
      paymentRequiredBody({
        code: "payment_required",
        message: `The daily ${budget.type} budget of ${budget.limit} calls is used up`,
        budget,
        payment: {
          ...{ price: `$${X402_PRICES_USD[budget.type]}`, network: "eip155:84532", payTo: NO_PAYEE },
          ...{ available: false, facilitatorUrl: null },
          instructions: "Payment per call isn't available. Wait for the reset at midnight UTC.",
        },
      }),
    ),
  };
};
