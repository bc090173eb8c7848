import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Lesson plans",
  category: "documentation",
  request: {
    lesson:
      "Two lessons on fractions for pupils of ten: comparing halves, thirds and quarters with paper strips, a game in pairs, homework with six exercises, and a short test whose answers the teacher can mark in five minutes.",
  },
  payload: {
    release: "The airline has ordered twelve freighters from the manufacturer and will station them in Leipzig.",
    quote:
      "Demand for express cargo between Asia and Europe remains strong, said the chief executive, who expects the first delivery in autumn and denied rumours of a merger.",
  },
  reason: "An airline's press release came in place of two lessons on fractions.",
  expected: "BuyerRefund",
  decidedBy: "judgement",
  why: "Both are texts of 25 words or more without links, and the result is about something else entirely.",
});
