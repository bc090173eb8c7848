import { z } from "zod";

import { deliveryProofOf } from "../../../sdk/src/index.ts";
import type { Agent, Deal, TransactionWithActions } from "../../../sdk/src/index.ts";
import { ownId, requireAgent } from "../context.ts";
import type { ToolContext } from "../context.ts";
import { ToolRefusal } from "../refusal.ts";
import { notPossible } from "../signer.ts";
import type { Move } from "../signer.ts";
import { defineTool, intentId, jsonObject, recordId, SPENDS, WRITES } from "../tool.ts";
import { Deadline, moveOutput, presentMoved, settle } from "./outcome.ts";
import type { Ending, Reached } from "./outcome.ts";
import { roleOf } from "./view.ts";

/** A move and the statuses in which it has been made already. */
interface Wanted {
  move: Move;
  reached: Reached;
  payload?: Record<string, unknown>;
}

interface Moved {
  agent: Agent;
  deal: Deal;
  move: Move;
  ending: Ending;
}

/**
 * Makes a move unless the deal has it already. A repeat therefore sends nothing.
 * @throws ToolRefusal if the deal's state doesn't allow the move
 */
async function moveDeal(
  context: ToolContext,
  dealId: string,
  choose: (record: TransactionWithActions, agentId: string) => Wanted,
): Promise<Moved> {
  const agent = requireAgent(context);
  const deadline = new Deadline(context);
  const deal = await agent.deal(dealId);
  const [record, id] = await Promise.all([deal.read(), ownId(agent)]);
  const { move, reached, payload } = choose(record, id);
  if (reached.includes(record.status)) return { agent, deal, move, ending: { result: "done" } };
  const isOffered = record.actions.some(({ action }) => action === move || (isHandover(move) && action === "deliver"));
  if (!isOffered) throw notPossible(dealId, move, record.status);
  const options = { timeoutMs: deadline.leftMs, payload };
  return { agent, deal, move, ending: await settle(context, deal, { move, reached }, options) };
}

/** The service takes the payload first, and offers the call once it has it. */
const isHandover = (move: Move): boolean => move === "submitDelivery";

const present = async ({ agent, deal, move, ending }: Moved) => presentMoved(agent, await deal.read(), move, ending);

const dealInput = z.strictObject({ intentId, dealId: recordId });

export const accept = defineTool({
  name: "accept",
  title: "Accept a delivery",
  description:
    "As the buyer, accepts the delivery, which pays the seller at once and can't be undone. Review it first.",
  hints: SPENDS,
  input: dealInput,
  output: moveOutput,
  work: async (context, { dealId }) =>
    present(await moveDeal(context, dealId, () => ({ move: "accept", reached: ["released"] }))),
});

export const dispute = defineTool({
  name: "dispute",
  title: "Dispute a delivery",
  description:
    "As the buyer, disputes the delivery within the window and says why. The deposit is frozen until a ruling by the agreed criteria.",
  hints: SPENDS,
  input: z.strictObject({ intentId, dealId: recordId, reason: z.string().min(1).max(2_000) }),
  output: moveOutput,
  async work(context, { intentId: intent, dealId, reason }) {
    const moved = await moveDeal(context, dealId, () => ({ move: "openDispute", reached: ["disputed", "resolved"] }));
    if (moved.ending.result === "done") {
      const { dispute: opened } = moved.deal;
      const record = await opened.read();
      if (record.status === "open" && record.reason === null) {
        await opened.complain({ reason, evidence: [] }, { idempotencyKey: `dispute:${intent}` });
      }
    }
    return present(moved);
  },
});

export const reclaim = defineTool({
  name: "reclaim",
  title: "Collect what is due",
  description:
    "Collects money that time has set free: the buyer's deposit when nothing was delivered in time, the seller's pay after the dispute " +
    "window, half each when nobody ruled a dispute.",
  hints: SPENDS,
  input: dealInput,
  output: moveOutput,
  work: async (context, { dealId }) => present(await moveDeal(context, dealId, chooseReclaim)),
});

/** The move that the deal's state leaves to the clock. */
function chooseReclaim(record: TransactionWithActions, agentId: string): Wanted {
  const { status } = record;
  const reached: Reached = [roleOf(record, agentId) === "buyer" ? "abandoned" : "released", "resolved"];
  if (status === "delivered" || status === "released") return { move: "finalize", reached };
  return { move: status === "disputed" || status === "resolved" ? "resolveExpired" : "claimAbandoned", reached };
}

export const deliver = defineTool({
  name: "deliver",
  title: "Deliver a job",
  description:
    "As the seller, hands over the result and commits to it on chain. It can't be changed later, so try it with review_delivery first.",
  hints: WRITES,
  input: z.strictObject({ intentId, dealId: recordId, payload: jsonObject.meta({ description: "The result" }) }),
  output: moveOutput,
  async work(context, { dealId, payload }) {
    const choose = ({ deliveryProof }: TransactionWithActions): Wanted => {
      if (deliveryProof !== null && deliveryProof !== deliveryProofOf(payload)) {
        throw new ToolRefusal({
          code: "other_result_delivered",
          message: "Another result was handed over for this deal, and a result can't be changed.",
          whatToDo: "Repeat with exactly the payload that was handed over; get_deal shows it.",
          dealId,
        });
      }
      return { move: "submitDelivery", reached: ["delivered", "released", "disputed", "resolved"], payload };
    };
    return present(await moveDeal(context, dealId, choose));
  },
});

export const decline = defineTool({
  name: "decline",
  title: "Decline a job",
  description: "As the seller, declines a paid job. The buyer gets the deposit back without the fee.",
  hints: WRITES,
  input: dealInput,
  output: moveOutput,
  work: async (context, { dealId }) =>
    present(await moveDeal(context, dealId, () => ({ move: "refund", reached: ["refunded"] }))),
});
