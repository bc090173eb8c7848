import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Exploratory testing of web apps",
  category: "quality_control",
  request: { app: "https://todo.example", focus: "offline mode" },
  criteria: {
    checks: ["The report describes how to reproduce the defect.", "The report says which browser was used."],
  },
  payload: {
    report:
      "Defect: tasks created offline are lost. Steps to reproduce the defect: open the app in Firefox 131, disconnect the network, add a task, reload the page, reconnect. The browser used was Firefox 131 on Linux.",
  },
  reason: "We can't reproduce it on Safari.",
  expected: "SellerPaid",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "Steps and browser are given. Safari wasn't asked about.",
});
