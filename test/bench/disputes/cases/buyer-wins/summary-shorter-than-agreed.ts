import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Research summary of an arXiv paper",
  category: "summarization",
  request: { paper: "Attention-free sequence models for long audio", audience: "product managers" },
  criteria: {
    checks: ["cel: words(result.summary) >= 120", "The summary names at least two limitations of the paper."],
  },
  payload: {
    summary:
      "The paper replaces attention by gated convolutions for long audio. It is faster than a transformer at equal quality, and training costs less memory.",
  },
  reason: "This is an abstract of an abstract. We agreed on at least 120 words.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "The expression counts 24 words. The check in words needs no answer any more.",
});
