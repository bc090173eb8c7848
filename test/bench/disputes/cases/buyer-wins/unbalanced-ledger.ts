import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Bookkeeping from bank statements",
  category: "accounting",
  request: { month: "2026-08", lines: 3 },
  criteria: {
    checks: [
      "cel: result.totalDebit == result.totalCredit",
      "cel: result.entries.all(entry, has(entry.account) && has(entry.amount))",
    ],
  },
  payload: {
    entries: [
      { account: "4400 Revenue", amount: 1200.0 },
      { account: "6300 Rent", amount: -800.0 },
      { account: "6815 Office", amount: -45.9 },
    ],
    totalDebit: 1245.9,
    totalCredit: 1200.0,
  },
  reason: "Debit and credit differ by 45.90.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "A ledger that doesn't balance fails the agreed equality.",
});
