import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Hourly ETH/USD candles",
  category: "data",
  request: { pair: "ETH/USD", from: "2026-10-01T00:00:00Z", to: "2026-10-01T04:00:00Z" },
  criteria: {
    schema: {
      type: "object",
      required: ["candles"],
      properties: {
        candles: {
          type: "array",
          minItems: 4,
          items: {
            type: "object",
            required: ["time", "open", "high", "low", "close"],
            properties: { time: { type: "string", format: "date-time" } },
          },
        },
      },
    },
  },
  payload: {
    candles: [
      { open: 2611.2, high: 2619.9, low: 2608.4, close: 2615.1 },
      { open: 2615.1, high: 2622.0, low: 2611.7, close: 2620.3 },
      { open: 2620.3, high: 2624.8, low: 2616.6, close: 2617.9 },
      { open: 2617.9, high: 2618.2, low: 2601.0, close: 2604.5 },
    ],
  },
  reason: "Candles without a time can't be joined with our trades.",
  evidence: [
    { by: "seller", type: "communication", description: "They are in order, so the time follows from the request." },
  ],
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "`time` is required in each candle. What could be derived from the request wasn't delivered.",
});
