import { z } from "zod";

import { addressOutput, addressSchema, dataOf, networkSchema } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { ApiError } from "../../http/errors.ts";
import { EXAMPLE } from "../../http/examples.ts";
import { isFromPage } from "../../http/page-session.ts";
import { giftOutput } from "../faucet/routes.ts";
import { messageSchema, signatureSchema } from "../identity/sign-in-schemas.ts";
import type { StackWallets } from "./stack-wallets.ts";

/** Dependencies of the routes for the stack's wallets. */
export interface StackWalletDeps {
  stackWallets: StackWallets;
}

const PATH = "/api/v1/stack/wallets";
const shared = {
  tag: "Networks",
  audience: "localStack",
  scope: "none",
  auth: "none",
  limitClass: "keyless",
  budget: "none",
} as const;

/** While a node isn't anvil, wallets are neither made nor listed: the routes are unknown paths. */
async function requireAnvil(_request: unknown, { stackWallets }: StackWalletDeps): Promise<void> {
  if (!(await stackWallets.isOpen())) throw new ApiError("not_found");
}

const makeWallet = defineRoute({
  ...shared,
  name: "stackWallets.make",
  method: "POST",
  path: PATH,
  summary: "Makes a wallet for the local stack, with money on both chains, and shows its key once",
  // The key is shown once: a repeat makes another wallet.
  storesResponse: false,
  responses: {
    201: dataOf(
      z.object({
        address: addressOutput,
        privateKey: z
          .string()
          .regex(/^0x[0-9a-f]{64}$/)
          .meta({ description: "Shown only this once: the service doesn't store it" }),
        gifts: z.array(giftOutput.extend({ network: networkSchema })),
      }),
    ),
  },
  errors: ["not_found", "rate_limit_exceeded", "chain_unavailable"],
}).handle(async ({ ip }, { stackWallets }: StackWalletDeps) => {
  const { address, privateKey, gifts } = await stackWallets.make(ip);
  const given = gifts.map((gift) => ({ ...gift, amount: String(gift.amount) }));
  return { status: 201, body: { success: true, data: { address, privateKey, gifts: given } } };
}, requireAnvil);

const listWallet = defineRoute({
  ...shared,
  name: "stackWallets.list",
  method: "POST",
  path: `${PATH}/listed`,
  summary: "Lists a wallet that a program has made for the local stack, for a text that the wallet has signed",
  body: z.strictObject({ message: messageSchema, signature: signatureSchema }).meta({
    id: "StackWalletRequest",
    examples: [{ message: EXAMPLE.stackWallet, signature: EXAMPLE.signature }],
  }),
  responses: { 200: dataOf(z.object({ address: addressOutput })) },
  errors: ["not_found", "sign_in_message_invalid", "signature_invalid", "wallet_not_of_stack", "service_unavailable"],
}).handle(async ({ body, headers }, { stackWallets }: StackWalletDeps) => {
  const address = await stackWallets.enlist({ ...body, isFromPage: isFromPage(headers) });
  return { status: 200, body: { success: true, data: { address } } };
}, requireAnvil);

const readWallet = defineRoute({
  ...shared,
  name: "stackWallets.read",
  method: "GET",
  path: `${PATH}/{address}`,
  summary: "Whether a wallet was made for the local stack, so that a page needn't have another one sign anything",
  params: z.strictObject({ address: addressSchema }),
  responses: { 200: dataOf(z.object({ address: addressOutput, isOfStack: z.boolean() })) },
  // Elsewhere alone. Pages refuse others whatever the nodes are, so a stack always answers this.
  errors: ["not_found"],
}).handle(async ({ params: { address } }, { stackWallets }: StackWalletDeps) => ({
  status: 200,
  body: { success: true, data: { address, isOfStack: await stackWallets.has(address) } },
}));

export const stackWalletRoutes = [makeWallet, listWallet, readWallet];
