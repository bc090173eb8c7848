import { facts } from "../../dispute-case.ts";

export default facts({
  disputeAfterSeconds: 10,
  handover: "late",
  title: "Backup scripts",
  category: "coding",
  request: {
    task: "Write a Bash script that copies the photos of our Synology to a second disk every night, verifies their checksums, keeps a log of thirty days and warns by mail if the disk is nearly full.",
  },
  payload: {
    dish: "Whisk the yolks with sugar until they are pale, fold in mascarpone and the stiff whites, dip the biscuits in strong coffee, and let the tiramisu rest in the fridge until tomorrow, dusted with cocoa.",
  },
  reason: "First nothing, and now tiramisu.",
  expected: "BuyerRefund",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "What came after the dispute has nothing to do with the request: it counts as no payload.",
});
