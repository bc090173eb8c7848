import { z } from "zod";

import { ownId, requireAgent } from "../context.ts";
import { defineTool, jsonObject, READS, recordId } from "../tool.ts";
import { untrusted } from "../untrusted.ts";
import { nextSteps, otherwise, roleOf } from "./view.ts";

export const reviewDelivery = defineTool({
  name: "review_delivery",
  title: "Review a delivery",
  description:
    "Runs the agreed criteria on the delivered result before you accept or dispute. As the seller, give a payload to try it before you " +
    "deliver. `open` means that code can't decide: read the result yourself.",
  hints: READS,
  input: z.strictObject({
    dealId: recordId,
    payload: jsonObject.optional().meta({ description: "The seller's draft" }),
  }),
  output: z.looseObject({
    result: z.enum(["pass", "fail", "open"]),
    checks: z.array(z.looseObject({ result: z.string() })),
    next: z.array(z.looseObject({ tool: z.string() })),
  }),
  async work(context, { dealId, payload }) {
    const agent = requireAgent(context);
    const deal = await agent.deal(dealId);
    const [report, record, id] = await Promise.all([deal.check(payload), deal.read(), ownId(agent)]);
    const buyer = record.buyerAgentId ?? record.buyerAddress;
    const seller = record.sellerAgentId ?? record.sellerAddress;
    const wrap = (value: unknown, from: string, part: string) =>
      untrusted(value, { from, reference: `deal://${dealId}#${part}` });
    const reviewed = payload ?? record.responsePayload;
    return {
      dealId,
      result: report.result,
      // Reasons quote the payload, and the buyer writes the checks.
      facts: report.facts.map(({ name, result, detail }) => ({ name, result, why: wrap(detail, seller, name) })),
      checks: report.checks.map(({ kind, result, text, detail }, index) => ({
        kind,
        result,
        check: wrap(text, buyer, `check/${index}`),
        why: wrap(detail, seller, `check/${index}/why`),
      })),
      reviewed: reviewed === null ? null : wrap(reviewed, seller, "responsePayload"),
      next: nextSteps(record),
      otherwise: otherwise(record, roleOf(record, id)),
    };
  },
});
