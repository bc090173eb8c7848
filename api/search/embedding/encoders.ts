import type { Connection } from "mongoose";

import type { EmbeddingProvider } from "../../config/embeddings.ts";
import type { Logger } from "../../lib/logger.ts";
import { createEmbeddingServer } from "./embedding-server.ts";
import type { SentenceEncoder } from "./encoder.ts";
import { embeddingModels } from "./model.ts";
import { Outage } from "./outage.ts";
import type { OutagePauses } from "./outage.ts";
import { mostTokensOf, ServerEncoder } from "./server-encoder.ts";
import type { SendingPaces } from "./server-encoder.ts";
import { TokenBudget } from "./token-budget.ts";
import { VectorCache } from "./vector-cache.ts";

/** How texts are embedded at the moment. */
export interface EncoderState {
  /** The current model. */
  model: string;
  /** Null for the embedded encoder. */
  server: {
    /** False from a request of this process that failed for good until its next answer. */
    answers: boolean;
    /** Tokens that all processes have spent and reserved on this UTC day. */
    tokensToday: number;
    dailyTokens: number;
  } | null;
}

/** The encoders of this process. */
export interface Encoders {
  /** Embeds what is stored and searched. */
  current: SentenceEncoder;
  /** The one in this process, for what is tuned to it. It sends nothing to anyone. */
  embedded: SentenceEncoder;
  state(): Promise<EncoderState>;
  close(): Promise<void>;
}

/** Options for making encoders. */
export interface EncodersOptions {
  connection: Connection;
  /** Undefined for the embedded encoder alone. */
  provider: EmbeddingProvider | undefined;
  embedded: SentenceEncoder;
  now: () => Date;
  log: Logger;
  /** Tests change these. */
  paces?: SendingPaces;
  pauses?: OutagePauses;
}

/** Creates the encoders. Nothing is started or sent before the first text. */
export function createEncoders(options: EncodersOptions): Encoders {
  const { connection, provider, embedded, now, log, paces, pauses } = options;
  const { vectors, spending } = embeddingModels(connection);
  if (provider === undefined) {
    return {
      current: embedded,
      embedded,
      state: () => Promise.resolve({ model: embedded.model, server: null }),
      close: () => embedded.close(),
    };
  }

  const { dailyTokens, maxTextBytes, dimensions } = provider;
  const model = `${providerName(provider.baseUrl)}:${provider.model}:${dimensions}`;
  const budget = new TokenBudget({ spending, dailyTokens, longestText: mostTokensOf(maxTextBytes), now, log });
  const outage = new Outage(model, log, pauses);
  const current = new ServerEncoder({
    model,
    dimensions,
    server: createEmbeddingServer(provider),
    cache: new VectorCache(vectors),
    budget,
    outage,
    maxTextBytes,
    now,
    paces,
  });
  return {
    current,
    embedded,
    async state() {
      const tokensToday = await budget.spentToday();
      return { model, server: { answers: outage.isAnswering(), tokensToday, dailyTokens } };
    },
    async close() {
      await Promise.all([embedded.close(), current.close()]);
    },
  };
}

/** `openai`, or `compatible` for every other server: moving a server to another address changes none of its vectors. */
function providerName(baseUrl: string): string {
  return new URL(baseUrl).hostname === "api.openai.com" ? "openai" : "compatible";
}
