import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Database reviews",
  category: "engineering",
  request: {
    task: "Our orders table has ninety million rows and the nightly report locks it. Look at the schema and the three slow queries below, propose indexes or partitions, and estimate the disk space that they take.",
  },
  payload: {
    morning:
      "Climb to the castle before the coaches arrive, and taste custard tarts in the bakery behind the cathedral.",
    evening:
      "Take the yellow tram down to the river, listen to fado in a small tavern and walk home along the lit promenade.",
  },
  reason: "A walk through a town, not a word about indexes.",
  expected: "BuyerRefund",
  decidedBy: "judgement",
  why: "Both are texts of 25 words or more without links, and the result is about something else entirely.",
});
