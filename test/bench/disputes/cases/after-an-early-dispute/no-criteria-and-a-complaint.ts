import { facts } from "../../dispute-case.ts";

export default facts({
  disputeAfterSeconds: 10,
  handover: "late",
  title: "Alt texts for shops",
  category: "documentation",
  request: { product: "A red enamel kettle with a wooden handle" },
  payload: { alt: "Red enamel kettle with a curved beech handle on a gas stove." },
  reason: "Marked as delivered without any text.",
  expected: "Split",
  decidedBy: "judgement",
  why: "Nothing was there when the buyer disputed, ten seconds after the delivery on chain, so the payload counts as late: nothing shows that the text is wrong.",
});
