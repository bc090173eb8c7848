import { z } from "zod";

import { CALL_CLASSES } from "../../../config/constants.ts";
import { dataOf, listOf } from "../../../http/common-schemas.ts";
import { defineRoute } from "../../../http/define-route.ts";
import { ApiError } from "../../../http/errors.ts";
import { PACK_PATH } from "./packs.ts";
import type { Pack, Packs } from "./packs.ts";
import { dollars } from "../offer/terms.ts";

/** Dependencies of the routes. */
export interface X402Deps {
  packs: Packs;
}

const MAX_PACK_ID_LENGTH = 40;

const packOutput = z
  .object({
    id: z.string(),
    packId: z.string(),
    class: z.enum(CALL_CLASSES),
    calls: z.number().int(),
    price: z.string().meta({ description: "In US dollars, without a discount", examples: ["$10"] }),
  })
  .meta({ id: "Pack" });

const present = ({ packId, class: kind, calls, amount }: Pack) => ({
  id: packId,
  packId,
  class: kind,
  calls,
  price: dollars(amount),
});

const listPacks = defineRoute({
  name: "packs.list",
  scope: "none",
  method: "GET",
  path: "/api/v1/x402/packs",
  tag: "Payments",
  summary: "Prepaid packs of calls with their prices",
  auth: "none",
  limitClass: "keyless",
  budget: "none",
  responses: { 200: listOf(packOutput) },
}).handle((_request, { packs }: X402Deps) => ({
  status: 200,
  body: { success: true, data: packs.all.map(present), nextCursor: null },
}));

const buyPack = defineRoute({
  name: "packs.buy",
  scope: "buy",
  method: "POST",
  path: PACK_PATH,
  tag: "Payments",
  summary: "Buys a prepaid pack of calls",
  description:
    "Answers 402 with the pack's price to a request without a payment, and takes every kind of proof that an exhausted " +
    "budget takes. The calls are drawn when the daily budget of their class is used up, and never expire.",
  auth: "apiKey",
  limitClass: "general",
  budget: "none",
  params: z.strictObject({ packId: z.string().max(MAX_PACK_ID_LENGTH) }),
  responses: { 200: dataOf(packOutput) },
  errors: [
    "not_found",
    "payment_required",
    "payment_verification_failed",
    "settlement_pending",
    "mandate_exceeded",
    "chain_unavailable",
    "facilitator_unavailable",
  ],
}).handle(({ params }, { packs }: X402Deps) => {
  // The payment gate has already charged the price. Confirming the payment credits the calls.
  const pack = packs.find(params.packId);
  if (pack === undefined) throw new ApiError("not_found");
  return { status: 200, body: { success: true, data: present(pack) } };
});

export const x402Routes = [listPacks, buyPack];
