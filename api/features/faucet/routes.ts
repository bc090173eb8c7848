import { zeroAddress } from "viem";
import { z } from "zod";

import { addressOutput, addressSchema, dataOf, networkSchema, tokenUnits } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { ApiError } from "../../http/errors.ts";
import { EXAMPLE } from "../../http/examples.ts";
import type { Faucet } from "./faucet.ts";

/** Dependencies of the faucet's route. */
export interface FaucetRouteDeps {
  faucet: Faucet;
}

/** What a wallet was given of one asset. */
export const giftOutput = z.object({
  symbol: z.string(),
  token: addressOutput.nullable(),
  amount: tokenUnits,
  transactionHash: z.string(),
});

const askFaucet = defineRoute({
  name: "faucet.give",
  scope: "none",
  method: "POST",
  path: "/api/v1/faucet",
  tag: "Networks",
  audience: "localStack",
  summary: "Gives a wallet money of the local chains",
  auth: "none",
  limitClass: "keyless",
  budget: "none",
  body: z
    .strictObject({
      address: addressSchema.refine((address) => address !== zeroAddress, "Must not be the zero address"),
      network: networkSchema,
    })
    .meta({ id: "FaucetRequest", examples: [{ address: EXAMPLE.buyer, network: "base-sepolia" }] }),
  responses: {
    200: dataOf(z.object({ address: addressOutput, network: networkSchema, gifts: z.array(giftOutput) })),
  },
  errors: ["not_found", "rate_limit_exceeded", "chain_unavailable"],
}).handle(
  async ({ body, ip }, { faucet }: FaucetRouteDeps) => {
    const gifts = (await faucet.give({ ...body, ip })).map((gift) => ({ ...gift, amount: String(gift.amount) }));
    return { status: 200, body: { success: true, data: { ...body, gifts } } };
  },
  async (_request, { faucet }) => {
    if (!(await faucet.isOpen())) throw new ApiError("not_found");
  },
);

export const faucetRoutes = [askFaucet];
