import type { ModelOptions } from "../../../api/features/disputes/judging/model-judge.ts";
import { startOpenAiServer } from "../../fixtures/openai-server.ts";
import type { ModelMode } from "../../fixtures/openai-server.ts";
import {
  ANSWERING_MODES,
  completionOf,
  readPrompt,
  scriptedReply,
  seededRandom,
  tokensIn,
} from "../../fixtures/scripted-judge.ts";
import type { AnsweringMode, KnownOrder, ModelAnswer, ScriptedJudge } from "../../fixtures/scripted-judge.ts";
import type { LabelledCase } from "./dispute-case.ts";

/** Behaviours of the scripted model (test/fixtures/openai-server.ts). */
export const SCRIPTED_MODES = [
  ...ANSWERING_MODES,
  ...(["malformed", "slow", "refusing", "truncated", "adversarial"] as const),
] as const satisfies readonly ModelMode[];

const CONFIDENCE = 0.95;

/** What a model that understands the case says about each of its questions. */
function rightAnswer({ expected, handover }: LabelledCase): ModelAnswer {
  if (expected === "BuyerRefund") return "not_met";
  return expected === "SellerPaid" || handover === "late" ? "met" : "unclear";
}

/** Starts a scripted model behind a server. `prepare` tells it which case comes next. */
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

/** The same model in this process, without a server: the same seed draws the same numbers. */
export function scriptedModel(mode: AnsweringMode, seed = 1) {
  const random = seededRandom(seed);
  const judge: ScriptedJudge = { answer: () => "met", confidence: CONFIDENCE, orders: [], random };
  let requests = 0;
  const options: ModelOptions = {
    apiKey: "scripted",
    baseUrl: "http://scripted.invalid/v1",
    name: `scripted-${mode}`,
    random: (below) => Math.floor(random() * below),
    fetch: (_url, request) => {
      const { messages } = JSON.parse(request?.body as string) as { messages: { content: string }[] };
      const prompt = readPrompt(messages.at(-1)?.content ?? "");
      const content = JSON.stringify(scriptedReply(judge, mode, prompt, requests));
      requests += 1;
      const input = tokensIn(messages.map((message) => message.content).join(""));
      return Promise.resolve(Response.json(completionOf({ content, refusal: null }, "stop", input)));
    },
  };
  return {
    options,
    judge,
    prepare: (labelled: LabelledCase): void => {
      judge.answer = () => rightAnswer(labelled);
    },
    /** Tells it what it reads in the next case. */
    read: (right: ModelAnswer, orders: readonly KnownOrder[]): void => {
      judge.answer = () => right;
      judge.orders = orders;
    },
  };
}
