import type { ClientSession } from "mongoose";

import { ApiError } from "../../http/errors.ts";
import type { AgentModels } from "../agents/model.ts";
import type { ListingModel } from "../listings/model.ts";
import type { DecisionRecord } from "./model.ts";

/** The collections of what a decision can be about. */
export interface SubjectModels {
  agents: AgentModels["agents"];
  listings: ListingModel;
}

/** A listing or an agent as a decision finds it. */
export interface Subject {
  /** The agent that a decision about it concerns. */
  agentId: string;
  /** The decision in force. */
  inForce: string | undefined;
}

/** Finds the subject of a decision in a database transaction. @throws ApiError `not_found` */
export async function findSubject(
  { agents, listings }: SubjectModels,
  { subjectType, subjectId }: Pick<DecisionRecord, "subjectType" | "subjectId">,
  session: ClientSession,
): Promise<Subject> {
  if (subjectType === "agent") {
    const agent = await agents.findById(subjectId, { moderation: 1 }, { session }).lean();
    if (agent === null) throw new ApiError("not_found", { details: { agentId: subjectId } });
    return { agentId: agent._id, inForce: agent.moderation?.decisionId };
  }
  const listing = await listings.findById(subjectId, { sellerAgentId: 1, moderation: 1 }, { session }).lean();
  if (listing === null) throw new ApiError("not_found", { details: { serviceId: subjectId } });
  return { agentId: listing.sellerAgentId, inForce: listing.moderation?.decisionId };
}
