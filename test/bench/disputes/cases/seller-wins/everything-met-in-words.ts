import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Smart contract explainer",
  category: "documentation",
  request: { contract: "Vault with an owner who can pause deposits and an upgrade proxy behind a 48 hour timelock" },
  criteria: {
    checks: ["The summary says who can pause deposits.", "The summary says that upgrades wait 48 hours in a timelock."],
  },
  payload: {
    summary:
      "The owner of the vault can pause deposits at any time. Upgrades of the proxy wait 48 hours in a timelock before they take effect, so depositors can leave first.",
  },
  reason: "Not detailed enough.",
  expected: "SellerPaid",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "The two sentences asked for are in the summary almost word for word. A number keeps a judge without a model careful.",
});
