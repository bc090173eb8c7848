import { z } from "zod";

import { timestampOutput, usdOutput } from "../../http/common-schemas.ts";
import type { RequestedApproval } from "../approvals/approvals.ts";
import { approvalOutput, presentApproval } from "../approvals/schemas.ts";
import { usdText } from "../mandates/usd.ts";

/** Answer of a checkout that the wallet has to approve first. */
export const approvalRequiredAnswer = z
  .object({
    success: z.literal(true),
    code: z.literal("approval_required"),
    data: z
      .object({
        approval: approvalOutput,
        left: z
          .object({ perDealUsd: usdOutput, todayUsd: usdOutput, totalUsd: usdOutput })
          .meta({ description: "What the mandate has left without an approval" }),
        dayEndsAt: timestampOutput,
      })
      .meta({ id: "RequiredApproval" }),
  })
  .meta({ id: "ApprovalRequired" });

/** The answer for an approval that was asked for at this moment or before. */
export function presentRequired({ left, ...requested }: RequestedApproval): z.input<typeof approvalRequiredAnswer> {
  const { perDealUsd, todayUsd, totalUsd, dayEndsAt } = left;
  return {
    success: true,
    code: "approval_required",
    data: {
      approval: presentApproval(requested),
      left: { perDealUsd: usdText(perDealUsd), todayUsd: usdText(todayUsd), totalUsd: usdText(totalUsd) },
      dayEndsAt: dayEndsAt.toISOString(),
    },
  };
}
