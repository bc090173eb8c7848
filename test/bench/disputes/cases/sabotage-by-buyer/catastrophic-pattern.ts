import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Serial number cleaning",
  category: "data",
  request: { serials: 1 },
  criteria: {
    schema: {
      type: "object",
      required: ["serial"],
      properties: { serial: { type: "string", pattern: "^([a-z]+)+$" } },
    },
  },
  payload: { serial: `${"a".repeat(40)}!` },
  reason: "Doesn't match.",
  expected: "Split",
  decidedBy: "judgement",
  why: "The pattern never ends on this text, so it is cut off and stays open. An answer to it would be a guess.",
});
