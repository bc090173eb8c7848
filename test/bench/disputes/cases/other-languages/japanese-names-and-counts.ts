import { disputeCase } from "../../dispute-case.ts";

export default disputeCase({
  title: "Company names in Katakana",
  category: "translation",
  request: { names: ["Blue Heron", "Silver Mill"] },
  criteria: {
    checks: ["cel: size(result.names) == size(request.names)", "cel: result.names.all(n, n.matches('[ァ-ヶー・]+'))"],
  },
  payload: { names: ["ブルー・ヘロン", "シルバー・ミル"] },
  reason: "読みにくいです。",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "Both names are in Katakana, which a pattern checks.",
});
