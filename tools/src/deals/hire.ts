import type { Hex } from "viem";
import { z } from "zod";

import { canonicalJson, DealEndedError, TimeoutError } from "../../../sdk/src/index.ts";
import type { Approval, Deal, Listing, TransactionWithActions } from "../../../sdk/src/index.ts";
import { requireAgent } from "../context.ts";
import type { ToolContext } from "../context.ts";
import { money, parseAmount } from "../money.ts";
import { ToolRefusal } from "../refusal.ts";
import type { Order } from "../signer.ts";
import { defineTool, intentId, jsonObject, recordId, SPENDS } from "../tool.ts";
import { untrusted } from "../untrusted.ts";
import { Deadline, moveOutput, PAID, presentMoved, settle } from "./outcome.ts";
import type { Ending } from "./outcome.ts";

const MAX_WAIT_SECONDS = 20;

const hireInput = z.strictObject({
  intentId,
  serviceId: recordId,
  maxPrice: z.string().max(40).meta({ description: "Most that you pay in total, for example 2.50" }),
  token: z.enum(["USDC", "WETH"]).default("USDC"),
  request: jsonObject.optional().meta({ description: "What the seller needs to know" }),
  quantity: z.int().min(1).max(1_000_000).default(1),
  criteria: z
    .strictObject({ schema: jsonObject.optional(), checks: z.array(z.string().min(1).max(500)).max(20).optional() })
    .optional()
    .meta({ description: "JSON Schema of the result; CEL checks after `cel:`, or sentences" }),
  deliverWithinSeconds: z.int().min(60).max(2_592_000).optional(),
  callbackUrl: z.string().max(2_000).optional(),
  again: z
    .boolean()
    .default(false)
    .meta({ description: "True only after looks_like_a_repeat, to buy the same once more" }),
  waitSeconds: z.int().min(0).max(MAX_WAIT_SECONDS).default(MAX_WAIT_SECONDS),
  txHash: z
    .string()
    .regex(/^0x[0-9a-fA-F]{64}$/, "must be 0x and 64 hexadecimal digits")
    .optional()
    .meta({ description: "Only after signature_required: the hash of createEscrow" }),
});
type HireInput = z.output<typeof hireInput>;

export const hire = defineTool({
  name: "hire",
  title: "Hire a service",
  description:
    "Orders a service, pays the deposit into escrow and waits up to 20 seconds for the delivery. Pays nothing above maxPrice. `pending` " +
    "means paid and not delivered yet: read the deal after pollAfterSeconds. The seller is paid only when you accept.",
  hints: SPENDS,
  input: hireInput,
  output: moveOutput,
  async work(context, input) {
    const agent = requireAgent(context);
    const deadline = new Deadline(context);
    const maxAmount = parseAmount(input.maxPrice, input.token);
    if (maxAmount === undefined) {
      const message = `maxPrice: must be a decimal number with no more decimals than ${input.token} has, for example 2.50`;
      throw new ToolRefusal({ code: "invalid_input", message, whatToDo: "Correct maxPrice and repeat the call." });
    }
    const listing = await agent.listings.get(input.serviceId);
    if (listing.callbackRequired && input.callbackUrl === undefined) throw callbackMissing();
    // A repeat gets the intent's deal, whenever it comes. The key is for the client's own retries of this one request.
    const { body } = await agent.request<{ data: { transactionId: string } } | ApprovalRequired>({
      method: "POST",
      path: "/api/v1/checkout",
      body: orderOf(input),
      idempotencyKey: crypto.randomUUID(),
    });
    if ("code" in body) throw approvalRequired(body.data.approval);
    const deal = await agent.deal(body.data.transactionId);
    await checkTerms(deal, listing, input, maxAmount);
    const record = await deal.read();
    if (record.status === "expired") throw quoteExpired(deal.transactionId);
    const { intentId: intent, token, quantity, request, criteria, deliverWithinSeconds } = input;
    const order = { intentId: intent, listing, token, quantity, request, criteria, deliverWithinSeconds };
    const paid = await pay(context, deal, record, { txHash: input.txHash, maxAmount, order, deadline });
    if (paid.result !== "done") return presentMoved(agent, await deal.read(), "fund", paid);
    await waitForDelivery(deal, Math.min(input.waitSeconds * 1_000, deadline.leftMs));
    const latest = await deal.read();
    return {
      ...(await presentMoved(agent, latest, "fund", { result: latest.status === "funded" ? "pending" : "done" })),
      delivery: deliveryOf(latest),
    };
  },
});

/** Pays a quote, or has the payment verified that the caller's wallet has sent. */
async function pay(
  context: ToolContext,
  deal: Deal,
  { status }: TransactionWithActions,
  { txHash, deadline, ...bounds }: { txHash: string | undefined; maxAmount: bigint; order: Order; deadline: Deadline },
): Promise<Ending> {
  if (PAID.includes(status)) return { result: "done" };
  const timeoutMs = deadline.leftMs;
  if (txHash === undefined) return settle(context, deal, { move: "fund", reached: PAID }, { timeoutMs, ...bounds });
  try {
    await deal.reportFunding(txHash as Hex, { timeoutMs });
    return { result: "done" };
  } catch (error) {
    if (error instanceof TimeoutError) return { result: "pending" };
    throw error;
  }
}

/** The body of the checkout. It depends on the arguments alone, so that a repeat is the same request. */
function orderOf(input: HireInput) {
  const { intentId: intent, again, serviceId, token, quantity, request, criteria, callbackUrl } = input;
  const { deliverWithinSeconds } = input;
  return {
    intentId: intent,
    ...(again ? { again } : {}),
    serviceId,
    quantity,
    paymentMethod: token.toLowerCase(),
    ...(request === undefined ? {} : { requestPayload: request }),
    ...(criteria === undefined ? {} : { criteria }),
    ...(callbackUrl === undefined ? {} : { callbackUrl }),
    ...(deliverWithinSeconds === undefined ? {} : { deliveryDeadlineSeconds: deliverWithinSeconds }),
  };
}

/** Holds the quote against the listing, the order and the limit, before anything is signed. */
async function checkTerms(deal: Deal, listing: Listing, input: HireInput, maxAmount: bigint): Promise<void> {
  const { transactionId: dealId, terms } = deal;
  const { amount, seller, network } = terms;
  const record = await deal.read();
  if (record.currency !== input.token) throw otherTerms(dealId, `it is paid in ${record.currency}`);
  if (amount > maxAmount) {
    const price = money(amount, input.token).text;
    throw new ToolRefusal({
      code: "above_max_price",
      message: `The quote is ${price}, above maxPrice ${money(maxAmount, input.token).text}. Nothing was paid.`,
      whatToDo: "Raise maxPrice if it is worth that to you, or choose another service.",
      dealId,
    });
  }
  if (seller.toLowerCase() !== listing.sellerAddress.toLowerCase()) throw otherTerms(dealId, "it pays another seller");
  if (network !== listing.network) throw otherTerms(dealId, `it settles on ${network}`);
  const agreed = await deal.criteria();
  const wanted = {
    serviceId: input.serviceId,
    requestPayload: input.request ?? null,
    criteria: input.criteria ?? null,
  };
  for (const [name, value] of Object.entries(wanted)) {
    if (canonicalJson(agreed[name] ?? null) !== canonicalJson(value)) throw otherTerms(dealId, `its ${name} differs`);
  }
}

function otherTerms(dealId: string, how: string): ToolRefusal {
  return new ToolRefusal({
    code: "other_terms",
    message: `The quote isn't what was ordered: ${how}. Nothing was paid.`,
    whatToDo: "Don't pay this deal. Read the service again, and tell the operator of the marketplace.",
    dealId,
  });
}

function callbackMissing(): ToolRefusal {
  return new ToolRefusal({
    code: "callback_url_required",
    message: "callbackUrl: this service only takes orders with an address for its callback. Nothing was ordered.",
    whatToDo: "Repeat the call with callbackUrl, or choose a service with needsCallback false.",
  });
}

/** The answer of a checkout above the key's mandate. */
interface ApprovalRequired {
  code: "approval_required";
  data: { approval: Pick<Approval, "id" | "askedUsd" | "bound" | "expiresAt"> };
}

function approvalRequired({ id, askedUsd, bound, expiresAt }: ApprovalRequired["data"]["approval"]): ToolRefusal {
  return new ToolRefusal({
    code: "approval_required",
    message: `${id}: the deposit of ${askedUsd} US dollars is above ${bound} of the key's mandate. Nothing was bought.`,
    whatToDo:
      `Tell the wallet's owner, who approves or declines it by POST or DELETE /api/v1/approvals/${id} until ${expiresAt}. ` +
      "Then repeat the call with exactly the same arguments.",
  });
}

function quoteExpired(dealId: string): ToolRefusal {
  return new ToolRefusal({
    code: "quote_expired",
    message: "The quote of this purchase ended before it was paid.",
    whatToDo: "Check with get_deal that it wasn't paid. Then order again with a new intentId.",
    dealId,
  });
}

/** Waits until a result came, the deal ended without one, or the time is over. */
async function waitForDelivery(deal: Deal, timeoutMs: number): Promise<void> {
  if (timeoutMs === 0) return;
  try {
    await deal.waitForStatus(["delivered", "released", "disputed", "resolved"], { timeoutMs });
  } catch (error) {
    if (!(error instanceof DealEndedError) && !(error instanceof TimeoutError)) throw error;
  }
}

function deliveryOf(deal: TransactionWithActions) {
  const { responsePayload, transactionId, sellerAgentId, sellerAddress } = deal;
  if (responsePayload === null) return null;
  const reference = `deal://${transactionId}#responsePayload`;
  return untrusted(responsePayload, { from: sellerAgentId ?? sellerAddress, reference });
}
