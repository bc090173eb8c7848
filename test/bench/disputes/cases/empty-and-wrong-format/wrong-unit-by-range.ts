import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Body temperature log",
  category: "hardware_iot",
  request: { unit: "celsius", readings: 2 },
  criteria: { checks: ["cel: result.readings.all(r, r > 30.0 && r < 45.0)"] },
  payload: { readings: [98.1, 99.0] },
  reason: "Fahrenheit.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "No reading lies in the agreed range.",
});
