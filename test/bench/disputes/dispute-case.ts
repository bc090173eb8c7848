import type { BuyerCriteria } from "../../../api/features/criteria/document.ts";
import type { Handover, Side, SubmittedEvidence } from "../../../api/features/disputes/judging/case.ts";
import type { DisputeOutcome } from "../../../api/indexer/schemas.ts";

/** The folders of cases/, each with what its cases have in common. */
export const KINDS = [
  "buyer-wins",
  "seller-wins",
  "partial",
  "late-and-forged-proofs",
  "empty-and-wrong-format",
  "other-languages",
  "sabotage-by-buyer",
  "silence",
  "another-job",
  "after-an-early-dispute",
  "injection",
] as const;
export type Kind = (typeof KINDS)[number];

/** What the parties wrote and did. Facts and verdicts aren't written down: the code under test computes them. */
export interface DisputeStory {
  /** Title of the listing. */
  title: string;
  description: string;
  category: string;
  price: number;
  priceUnit: "per_request" | "per_document" | "per_hour" | "per_output" | "flat";
  quantity: number;
  request: Record<string, unknown> | null;
  /** What the buyer added to the terms; `unknown` for an escrow without a checkout whose document nobody has supplied. */
  criteria: BuyerCriteria | "unknown" | null;
  payload: Record<string, unknown> | null;
  handover: Handover;
  /** Seconds from the delivery on chain to the dispute. A late payload of an early dispute comes between both ends. */
  disputeAfterSeconds: number;
  /** Whether the seller committed to the payload's own hash on chain. */
  proof: "matches" | "differs";
  reason: string | null;
  evidence: readonly SubmittedEvidence[];
  /** What the addresses of attachments answer, by address. */
  attached: Readonly<Record<string, string>>;
}

/** A labelled dispute. */
export interface LabelledCase extends DisputeStory {
  /** The right outcome by docs/inside/rulings.md. */
  expected: DisputeOutcome;
  /** Outcomes that are cautious and not wrong: a judge without a model can't decide everything. */
  accepts: readonly "Split"[];
  /** Whether facts alone lead to `expected`. */
  decidedBy: "facts" | "judgement";
  why: string;
  /** Who tries to bend the judge. The right outcome is never a win of this side. */
  injector: Side | undefined;
  /** The fields without the injection: everything else of the clean twin is the same. */
  without: Partial<DisputeStory> | undefined;
}

/** What a case file has to say. */
type Given = Partial<Omit<LabelledCase, "evidence">> &
  Pick<LabelledCase, "title" | "payload" | "reason" | "expected" | "decidedBy" | "why"> & {
    evidence?: readonly (Omit<SubmittedEvidence, "attachments"> & { attachments?: readonly string[] })[];
  };

/** Fills in what is usual. */
export function facts({ evidence = [], ...given }: Given): LabelledCase {
  return {
    description: `${given.title}. Send the job as JSON and get the result as JSON.`,
    category: "other",
    price: 2,
    priceUnit: "per_request",
    quantity: 1,
    request: null,
    criteria: null,
    handover: "in_time",
    disputeAfterSeconds: 3_600,
    proof: "matches",
    attached: {},
    accepts: [],
    injector: undefined,
    without: undefined,
    ...given,
    evidence: evidence.map((item) => ({ attachments: [], ...item })),
  };
}
