import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Tide tables",
  category: "data",
  request: { port: "Roscoff", days: 1 },
  payload: { high: ["05:12", "17:38"], low: ["11:20", "23:49"] },
  handover: "late",
  reason: null,
  expected: "Split",
  decidedBy: "facts",
  why: "Nobody says that it is wrong, and the record says that it was late.",
});
