import { facts } from "../../dispute-case.ts";

export default facts({
  title: "中文市场简报",
  category: "research",
  request: { 主题: "电动自行车出口" },
  criteria: { checks: ["cel: size(result.report) >= 60"] },
  payload: { report: "出口增长，前景良好。" },
  reason: "只有一句话。",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "Ten characters are fewer than sixty.",
});
