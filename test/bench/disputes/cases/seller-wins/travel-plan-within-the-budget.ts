import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Weekend trips by train",
  category: "booking",
  request: { from: "Wien", budgetEur: 180, nights: 1 },
  criteria: { checks: ["cel: result.totalEur <= request.budgetEur", "cel: result.nights == request.nights"] },
  payload: {
    to: "Brno",
    totalEur: 141.5,
    nights: 1,
    legs: ["Wien Hbf 08:10 to Brno hl.n. 09:37", "Brno 17:22 to Wien 18:49"],
  },
  reason: "Changed my mind, Brno is boring.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "Budget and nights are as ordered.",
});
