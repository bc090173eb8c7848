import { NoVectorError } from "./encoder.ts";
import type { EncodeOptions, SentenceEncoder } from "./encoder.ts";

/** A text of a job, with what it belongs to. */
interface PendingText<Item> {
  item: Item;
  text: string;
  owner?: string;
  spender?: string;
}

/** The item that a text belongs to, with its vector. */
export interface Embedded<Item> {
  item: Item;
  vector: Float32Array;
}

/** The result of a batch. */
interface EmbeddedBatch<Item> {
  embedded: Embedded<Item>[];
  /** Those whose agents have no tokens left. */
  unpaid: Item[];
  /** Whether the encoder can't embed more at the moment: the job's next run goes on. */
  isStuck: boolean;
}

/**
 * Has texts embedded together. A text that the encoder refuses is left out and doesn't hold up the others.
 * @throws EncoderUnavailableError of the embedded encoder
 */
async function embedBatch<Item>(
  encoder: SentenceEncoder,
  texts: readonly PendingText<Item>[],
  isBackground: boolean,
): Promise<EmbeddedBatch<Item>> {
  const settled = await Promise.allSettled(
    texts.map(async ({ item, text, owner, spender }) => {
      const options: EncodeOptions = { owner, spender, isBackground };
      return { item, vector: (await encoder.encode(text, options)).vector };
    }),
  );
  const failures = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  const unexpected = failures.find((error) => !(error instanceof NoVectorError));
  if (unexpected !== undefined) throw unexpected as Error;
  return {
    embedded: settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : [])),
    unpaid: texts.flatMap(({ item }, position) => {
      const result = settled[position];
      return result?.status === "rejected" && reasonOf(result.reason) === "share" ? [item] : [];
    }),
    isStuck: failures.some((error) => ["budget", "server"].includes(reasonOf(error) ?? "")),
  };
}

const reasonOf = (error: unknown) => (error instanceof NoVectorError ? error.reason : undefined);

/** A run of a job that embeds what is pending. */
export interface PendingRun<Item> {
  encoder: SentenceEncoder;
  pending: AsyncIterable<Item>;
  /** @returns the text, and the id of the agent whose private text it is, or on whose share of the day's tokens it counts */
  textOf: (item: Item) => { text: string; owner?: string; spender?: string };
  /** @returns how many it has stored: what was written in the meantime isn't */
  store: (embedded: readonly Embedded<Item>[]) => Promise<number>;
  /** Called with the items whose agents have no tokens left, so that the run can skip the rest of theirs. */
  skip?: (unpaid: readonly Item[]) => void;
  /** Whether all other texts come first. */
  isBackground: boolean;
  /** The run ends after so many milliseconds. The next one goes on. */
  limitMs: number;
  signal: AbortSignal;
}

/**
 * Embeds what is pending in batches, until nothing is left, the encoder is stuck or the run's time is over. A batch is stored while
 * the next one is embedded.
 * @returns how many were stored
 */
export async function embedAll<Item>(run: PendingRun<Item>): Promise<number> {
  const { encoder, pending, textOf, store, skip, isBackground, limitMs, signal } = run;
  const endAt = performance.now() + limitMs;
  let stored = 0;
  let storing: Promise<number> | undefined;
  let batch: Item[] = [];

  async function untilStored(): Promise<void> {
    const last = storing;
    storing = undefined;
    stored += (await last) ?? 0;
  }

  /** @returns whether the run ends */
  async function flush(): Promise<boolean> {
    const texts = batch.map((item) => ({ item, ...textOf(item) }));
    batch = [];
    const { embedded, unpaid, isStuck } = await embedBatch(encoder, texts, isBackground);
    if (unpaid.length > 0) skip?.(unpaid);
    await untilStored();
    if (embedded.length > 0) storing = store(embedded);
    // It is thrown where the batch is waited for.
    storing?.catch(() => undefined);
    return isStuck || signal.aborted || performance.now() > endAt;
  }

  try {
    for await (const item of pending) {
      batch.push(item);
      if (batch.length >= encoder.atOnce && (await flush())) break;
    }
    if (batch.length > 0 && !signal.aborted) await flush();
  } finally {
    await untilStored();
  }
  return stored;
}
