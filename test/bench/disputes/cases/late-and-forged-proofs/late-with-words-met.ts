import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Site visit reports",
  category: "quality_control",
  request: { site: "Mill Lane 4" },
  criteria: { checks: ["The report describes the crack in the cellar wall."] },
  payload: {
    report:
      "The crack in the cellar wall runs from the window to the floor, is four millimetres wide and has fresh edges.",
  },
  handover: "late",
  reason: "Our call with the insurer was over by then.",
  expected: "Split",
  decidedBy: "judgement",
  why: "The check is met, but late: met and unclear both end in a Split.",
});
