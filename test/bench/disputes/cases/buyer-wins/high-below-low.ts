import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Daily BTC candles for backtests",
  category: "data",
  request: { pair: "BTC/USD", days: 3 },
  criteria: {
    checks: ["cel: result.candles.all(candle, candle.high >= candle.low)", "cel: size(result.candles) == 3"],
  },
  payload: {
    candles: [
      { day: "2026-09-01", high: 61400, low: 60020 },
      { day: "2026-09-02", high: 60110, low: 61890 },
      { day: "2026-09-03", high: 62300, low: 61005 },
    ],
  },
  reason: "The second candle has its high below its low.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "One candle breaks the agreed consistency check.",
});
