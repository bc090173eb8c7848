import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Backlink prospects",
  category: "marketing",
  request: { niche: "beekeeping", atLeast: 3 },
  criteria: { checks: ["cel: size(result.sites) >= request.atLeast"] },
  payload: { sites: ["hive.example", "apiary.example", "nectar.example"] },
  reason: "We hoped for ten.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "Three were promised at least, and three came.",
});
