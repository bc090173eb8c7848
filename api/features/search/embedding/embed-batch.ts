import { NoVectorError } from "./encoder.ts";
import type { EncodeOptions, SentenceEncoder } from "./encoder.ts";

/** A text of a job, with what it belongs to. */
export interface PendingText<Item> {
  item: Item;
  text: string;
  owner?: string;
}

/** What came of a batch. */
export interface EmbeddedBatch<Item> {
  embedded: { item: Item; vector: Float32Array }[];
  /** Whether the encoder can't embed more at the moment: the job's next run goes on. */
  isStuck: boolean;
}

/**
 * Has texts embedded together. A text that the encoder refuses is left out and doesn't hold up the others.
 * @throws EncoderUnavailableError of the embedded encoder
 */
export async function embedBatch<Item>(
  encoder: SentenceEncoder,
  texts: readonly PendingText<Item>[],
): Promise<EmbeddedBatch<Item>> {
  const settled = await Promise.allSettled(
    texts.map(async ({ item, text, owner }) => {
      const options: EncodeOptions = owner === undefined ? {} : { owner };
      return { item, vector: (await encoder.encode(text, options)).vector };
    }),
  );
  const failures = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  const unexpected = failures.find((error) => !(error instanceof NoVectorError));
  if (unexpected !== undefined) throw unexpected as Error;
  return {
    embedded: settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : [])),
    isStuck: failures.some((error) => error instanceof NoVectorError && error.reason !== "text"),
  };
}
