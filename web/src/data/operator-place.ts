import { NETWORKS } from "./answers.ts";
import type { Network } from "./answers.ts";

/** The path of the operator's page. What it shows is in the query, so that the server has one page to serve. */
export const OPERATOR = "/operator";

/** What the operator's page can show. */
export const OPERATOR_VIEWS = [
  "overview",
  "quarantine",
  "reports",
  "appeals",
  "decisions",
  "levels",
  "rulings",
] as const;
export type OperatorView = (typeof OPERATOR_VIEWS)[number];

/** What the operator can do about a listing or an agent. */
export const ACTIONS = ["hide", "suspend", "restore"] as const;
export type Action = (typeof ACTIONS)[number];

/** What a decision can be about. */
const SUBJECT_TYPES = ["listing", "agent"] as const;
export type SubjectType = (typeof SUBJECT_TYPES)[number];

/** What the operator's page shows. */
export interface OperatorPlace {
  view: OperatorView;
  /** What the form of decisions begins with; null for an empty one. */
  subject: { type: SubjectType; id: string } | null;
  /** What the form of decisions begins with. */
  action: Action;
  /** The network whose disputes are shown. */
  network: Network;
}

const ID = /^[A-Za-z0-9_-]{1,64}$/;
const DEFAULT_ACTION = "hide";
const DEFAULT_NETWORK: Network = "base-sepolia";

/** What the operator's page at an address shows. What isn't known is left out. */
export function operatorPlaceOf(search: string): OperatorPlace {
  const query = new URLSearchParams(search);
  const view = OPERATOR_VIEWS.find((one) => one === query.get("view")) ?? "overview";
  const type = SUBJECT_TYPES.find((one) => one === query.get("type"));
  const id = query.get("id") ?? "";
  const subject = type !== undefined && ID.test(id) ? { type, id } : null;
  const asked = ACTIONS.find((one) => one === query.get("action"));
  return {
    view,
    subject,
    action: actionFor(asked, subject?.type),
    network: NETWORKS.find((one) => one === query.get("network")) ?? DEFAULT_NETWORK,
  };
}

/** A listing is hidden and an agent suspended; either is restored. */
function actionFor(asked: Action | undefined, type: SubjectType | undefined): Action {
  if (type === undefined) return asked ?? DEFAULT_ACTION;
  if (asked === "restore") return asked;
  return type === "listing" ? "hide" : "suspend";
}

/** The address of a view. */
export function viewAddress(view: OperatorView): string {
  return view === "overview" ? OPERATOR : `${OPERATOR}?view=${view}`;
}

/** The address of the open disputes of a network. */
export function rulingsAddress(network: Network): string {
  return `${viewAddress("rulings")}&network=${network}`;
}

/** The address of the decisions, with the form filled in for a subject. */
export function decideAddress(type: SubjectType, id: string, action: Action): string {
  return `${OPERATOR}?${new URLSearchParams({ view: "decisions", type, id, action }).toString()}`;
}
