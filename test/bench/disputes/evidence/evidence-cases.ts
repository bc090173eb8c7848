import type { Side, SubmittedEvidence } from "../../../../api/features/disputes/judging/case.ts";
import type { DisputeOutcome } from "../../../../api/indexer/schemas.ts";
import type { ModelAnswer } from "../../../fixtures/scripted-judge.ts";
import { facts } from "../dispute-case.ts";
import type { DisputeStory } from "../dispute-case.ts";

/** A dispute in which a party submits evidence about a long result that a model reads carelessly. */
export interface EvidenceCase {
  name: string;
  story: DisputeStory;
  /** The part of the result that decides the check. A careless model sees it only if it is shown by itself. */
  part: string;
  /** What the part shows, and what a model says that overlooks it. */
  shows: ModelAnswer;
  overlooked: ModelAnswer;
  /** The outcome without the evidence and with it. */
  without: DisputeOutcome;
  expected: DisputeOutcome;
}

const FILLING = Array.from(
  { length: 6 },
  (_, index) => `Section ${index + 1} sums up what was collected in the field.`,
);

interface Given {
  check: string;
  /** Part of the result, or null if it isn't in it. */
  part: string;
  isThere?: boolean;
  by: Side;
  says: string;
  type?: SubmittedEvidence["type"];
  shows: ModelAnswer;
  overlooked: ModelAnswer;
  expected: DisputeOutcome;
  attachment?: string;
}

const OUTCOMES = { met: "SellerPaid", not_met: "BuyerRefund", unclear: "Split" } as const;
const FILE = "https://files.example/evidence.txt";

function evidenceCase(name: string, given: Given): EvidenceCase {
  const { check, part, isThere = true, by, says, type = "other", shows, overlooked, expected, attachment } = given;
  const item = { by, type, description: says, attachments: attachment === undefined ? [] : [FILE] };
  const story = facts({
    title: "Survey of a river valley",
    category: "data",
    request: { valley: "Lower Arne" },
    criteria: { checks: [check] },
    payload: { sections: [...FILLING.slice(0, 3), ...(isThere ? [part] : []), ...FILLING.slice(3)] },
    reason: null,
    evidence: [item],
    attached: attachment === undefined ? {} : { [FILE]: attachment },
    expected,
    decidedBy: "judgement",
    why: "The part of the result that decides is pointed to, or isn't there.",
  });
  return { name, story, part, shows, overlooked, without: OUTCOMES[overlooked], expected };
}

/** Evidence points to a part of the result, and that part decides. */
export const RIGHTLY: EvidenceCase[] = [
  evidenceCase("seller-quotes-the-figure", {
    check: "The survey gives the mean depth.",
    part: "Mean depth of the Arne: 3.1 m.",
    by: "seller",
    says: 'It is in the fourth section: "Mean depth of the Arne: 3.1 m."',
    type: "delivery_proof",
    shows: "met",
    overlooked: "not_met",
    expected: "SellerPaid",
  }),
  evidenceCase("seller-quotes-a-name", {
    check: "The survey names the gauge.",
    part: "Readings come from the gauge at Holm.",
    by: "seller",
    says: 'See "gauge at Holm".',
    shows: "met",
    overlooked: "unclear",
    expected: "SellerPaid",
  }),
  evidenceCase("buyer-quotes-a-contradiction", {
    check: "The survey covers the year 2025.",
    part: "No readings of 2025 were used.",
    by: "buyer",
    says: 'They admit it: "No readings of 2025 were used."',
    shows: "not_met",
    overlooked: "met",
    expected: "BuyerRefund",
  }),
  evidenceCase("buyer-quotes-a-placeholder", {
    check: "The survey gives the flow at Holm.",
    part: "Flow at Holm: to be measured.",
    by: "buyer",
    says: 'Look at "Flow at Holm: to be measured."',
    shows: "not_met",
    overlooked: "met",
    type: "screenshot",
    expected: "BuyerRefund",
  }),
  evidenceCase("seller-points-in-an-attachment", {
    check: "The survey names its method.",
    part: "Depths were sounded by echo.",
    by: "seller",
    says: "The file says where.",
    attachment: 'Method: "sounded by echo", fourth section.',
    shows: "met",
    overlooked: "not_met",
    expected: "SellerPaid",
  }),
  evidenceCase("buyer-points-in-an-attachment", {
    check: "The survey is about the Lower Arne.",
    part: "All stations lie on the Upper Arne.",
    by: "buyer",
    says: "Marked in the file.",
    attachment: 'Wrong valley: "All stations lie on the Upper Arne."',
    shows: "not_met",
    overlooked: "met",
    expected: "BuyerRefund",
  }),
  evidenceCase("seller-quotes-another-language", {
    check: "The survey names the bridge.",
    part: "An der Brücke von Holm wurde gemessen.",
    by: "seller",
    says: 'In German: "Brücke von Holm".',
    shows: "met",
    overlooked: "unclear",
    expected: "SellerPaid",
  }),
  evidenceCase("seller-quotes-a-table-row", {
    check: "The survey lists station 14.",
    part: "14;Holm;3.1;12.4",
    by: "seller",
    says: 'Row "14;Holm;3.1;12.4" is it.',
    shows: "met",
    overlooked: "not_met",
    expected: "SellerPaid",
  }),
  evidenceCase("buyer-quotes-a-reservation", {
    check: "The survey vouches for its figures.",
    part: "We vouch for none of these figures.",
    by: "buyer",
    says: 'It says "We vouch for none of these figures."',
    shows: "not_met",
    overlooked: "unclear",
    type: "communication",
    expected: "BuyerRefund",
  }),
  evidenceCase("buyer-shows-that-nobody-can-tell", {
    check: "The survey was made in June.",
    part: "The month of the survey isn't recorded.",
    by: "buyer",
    says: 'Read "The month of the survey isn\'t recorded."',
    shows: "unclear",
    overlooked: "met",
    expected: "Split",
  }),
];

/** Evidence that must not change the outcome. */
export const NOT: EvidenceCase[] = [
  evidenceCase("seller-claims-without-pointing", {
    check: "The survey gives the mean depth.",
    part: "3.1 m",
    isThere: false,
    by: "seller",
    says: "The mean depth is in it, of course.",
    shows: "met",
    overlooked: "not_met",
    expected: "BuyerRefund",
  }),
  evidenceCase("seller-quotes-what-isn't-there", {
    check: "The survey gives the mean depth.",
    part: "Mean depth: 3.1 m.",
    isThere: false,
    by: "seller",
    says: 'It says "Mean depth: 3.1 m."',
    shows: "met",
    overlooked: "not_met",
    expected: "BuyerRefund",
  }),
  evidenceCase("seller-attaches-the-missing-part", {
    check: "The survey gives the mean depth.",
    part: "Mean depth: 3.1 m.",
    isThere: false,
    by: "seller",
    says: "Here is the rest.",
    attachment: 'Fifth section: "Mean depth: 3.1 m."',
    shows: "met",
    overlooked: "not_met",
    expected: "BuyerRefund",
  }),
  evidenceCase("seller-points-to-something-else", {
    check: "The survey gives the mean depth.",
    part: "Mean depth: 3.1 m.",
    isThere: false,
    by: "seller",
    says: 'It is in "Section 2 sums up what was collected in the field."',
    shows: "met",
    overlooked: "not_met",
    expected: "BuyerRefund",
  }),
  evidenceCase("seller-promises-the-rest", {
    check: "The survey gives the mean depth.",
    part: "Mean depth: 3.1 m.",
    isThere: false,
    by: "seller",
    says: 'Tomorrow I add "Mean depth: 3.1 m."',
    type: "communication",
    shows: "met",
    overlooked: "not_met",
    expected: "BuyerRefund",
  }),
  evidenceCase("buyer-quotes-words-that-were-never-written", {
    check: "The survey covers 2025.",
    part: "We left out 2025.",
    isThere: false,
    by: "buyer",
    says: 'They wrote "We left out 2025."',
    shows: "not_met",
    overlooked: "met",
    expected: "SellerPaid",
  }),
  evidenceCase("buyer-points-to-a-harmless-part", {
    check: "The survey covers 2025.",
    part: "We left out 2025.",
    isThere: false,
    by: "buyer",
    says: 'Look at "Section 3 sums up", it is worthless.',
    shows: "not_met",
    overlooked: "met",
    expected: "SellerPaid",
  }),
  evidenceCase("buyer-shows-a-screenshot-of-another-job", {
    check: "The survey covers 2025.",
    part: "Years: 2019 to 2023",
    isThere: false,
    by: "buyer",
    says: "See the screenshot.",
    attachment: 'Title page: "Years: 2019 to 2023"',
    type: "screenshot",
    shows: "not_met",
    overlooked: "met",
    expected: "SellerPaid",
  }),
  evidenceCase("buyer-only-complains", {
    check: "The survey covers 2025.",
    part: "none",
    isThere: false,
    by: "buyer",
    says: "I am disappointed, and so is my board.",
    shows: "not_met",
    overlooked: "met",
    expected: "SellerPaid",
  }),
  evidenceCase("seller-names-a-hash-of-nothing-here", {
    check: "The survey gives the mean depth.",
    part: "3.1 m",
    isThere: false,
    by: "seller",
    says: `The full survey has the SHA-256 ${"5e".repeat(32)}.`,
    shows: "met",
    overlooked: "not_met",
    expected: "BuyerRefund",
  }),
];
