import type { Encoding, SentenceEncoder } from "../../../api/search/embedding/encoder.ts";

/** An encoder that encodes each text once for each use: rankers of several benches ask for the same. */
export function rememberEncodings(encoder: SentenceEncoder): SentenceEncoder {
  const known = new Map<string, Promise<Encoding>>();
  return {
    ...encoder,
    encode(text, options) {
      const key = `${options?.isEnglishAlone === true ? "english" : (options?.as ?? "document")} ${text}`;
      const encoding = known.get(key) ?? encoder.encode(text, options);
      known.set(key, encoding);
      return encoding;
    },
  };
}
