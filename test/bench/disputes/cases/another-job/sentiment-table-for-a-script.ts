import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Shell and Python scripts",
  category: "coding",
  request: {
    task: "Write a Bash script that rotates the backups of our Postgres server: keep seven daily and four weekly dumps, delete older ones, and send a mail if a dump is smaller than the one before.",
  },
  payload: {
    rows: [
      { comment: "Lovely room, friendly waiter at breakfast", mood: "happy" },
      { comment: "The pool was cold and crowded", mood: "annoyed" },
      { comment: "Nice view of the harbour, thin walls", mood: "mixed" },
      { comment: "Would come again with my grandchildren", mood: "happy" },
    ],
  },
  reason: "No script came. The table rates hotel guests' comments.",
  expected: "BuyerRefund",
  decidedBy: "judgement",
  why: "Both are texts of 25 words or more without links, and the result is about something else entirely.",
});
