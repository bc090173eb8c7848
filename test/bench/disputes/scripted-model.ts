import type { ModelOptions } from "../../../api/features/disputes/judging/model-judge.ts";
import { startOpenAiServer } from "../../fixtures/openai-server.ts";
import type { ModelAnswer } from "../../fixtures/openai-server.ts";
import type { LabelledCase } from "./dispute-case.ts";

/** Behaviours of the scripted model (test/fixtures/openai-server.ts). */
export const SCRIPTED_MODES = [
  "correct",
  "malformed",
  "slow",
  "refusing",
  "truncated",
  "adversarial",
  "obeys",
] as const;

/** What a model that understands the case says about each of its questions. */
function rightAnswer({ expected, handover }: LabelledCase): ModelAnswer {
  if (expected === "BuyerRefund") return "not_met";
  return expected === "SellerPaid" || handover === "late" ? "met" : "unclear";
}

/** Starts a scripted model. `prepare` tells it which case comes next. */
export async function startScriptedModel(mode: (typeof SCRIPTED_MODES)[number]) {
  const server = await startOpenAiServer(mode);
  const options: ModelOptions = {
    apiKey: "scripted",
    baseUrl: server.baseUrl,
    name: `scripted-${mode}`,
    timeoutMs: mode === "slow" ? 20 : 10_000,
    attempts: 2,
    retryDelayMs: 1,
  };
  return {
    options,
    prepare: (labelled: LabelledCase): void => {
      server.answer = () => rightAnswer(labelled);
    },
    close: () => server.close(),
  };
}
