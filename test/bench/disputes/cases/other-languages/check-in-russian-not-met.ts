import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Краткие пересказы статей",
  category: "summarization",
  request: { статья: "О пользе сна для памяти" },
  criteria: { checks: ["Пересказ объясняет, как сон помогает памяти."] },
  payload: { пересказ: "Статья интересная и написана хорошо. Рекомендуем всем прочитать её целиком." },
  reason: "В пересказе ничего не сказано о памяти.",
  expected: "BuyerRefund",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "The summary praises the article and doesn't explain anything.",
});
