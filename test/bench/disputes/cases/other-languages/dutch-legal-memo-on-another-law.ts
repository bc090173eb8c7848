import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Juridische memo's",
  category: "legal_compliance",
  request: { vraag: "Mag een werkgever vakantiedagen intrekken?" },
  payload: { memo: "Een verhuurder mag de huur één keer per jaar verhogen, mits dat in het contract staat." },
  reason: "Dit gaat over huur, niet over vakantiedagen.",
  expected: "BuyerRefund",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "The memo answers another question. Without a model nobody reads Dutch here, and the burden of proof decides.",
});
