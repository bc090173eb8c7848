import { facts } from "../../dispute-case.ts";

export default facts({
  disputeAfterSeconds: 10,
  handover: "late",
  title: "Weather for growers",
  category: "data",
  request: { valley: "Val Venosta" },
  payload: { forecast: "Frost on Tuesday night down to minus three, then sun." },
  reason: null,
  expected: "Split",
  decidedBy: "facts",
  why: "Nothing was there when the buyer disputed, ten seconds after the delivery on chain, so the payload counts as late: a silent buyer proves nothing more.",
});
