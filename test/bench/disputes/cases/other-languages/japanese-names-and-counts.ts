import { facts } from "../../dispute-case.ts";

export default facts({
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
