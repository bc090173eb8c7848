import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";

/** The encoder's files with their SHA-256. NOTICE says where they come from. */
const HASHES = {
  "all-minilm-l6-v2-q.onnx": "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
  "english-words.txt": "97d1501604cda769529d8c2638a5493bb83fd97cea017b9da2b37f074bc19f22",
  "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
  "usem-table.u8.zst": "cbfd258612971eb0512b7b37b63d07ae61ad839ca0f73d608443b159691c77d1",
  "usem_q8.onnx": "8880d62ef78fe24ba8191336ee117fce73efbbdb2b66a9a91199f1e023a75377",
  "usem_scale.f32": "d92d1e1d7d460e45cc63278f85e2837083d2e4a52473d713efd1a096cd52b2cf",
  "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
} as const;
/** The name of one of the files. */
export type EncoderFile = keyof typeof HASHES;

/** Where the files are. */
export const ENCODER_FOLDER = fileURLToPath(new URL(".", import.meta.url));

/** Thrown when the encoder can't work in this installation. The message names the file or the platform. */
export class EncoderUnusableError extends Error {
  override readonly name = "EncoderUnusableError";
}

/** Loads the library that runs the models. */
export const loadRuntime = () => import("onnxruntime-node");

/**
 * Checks that the encoder will work: a file that a checkout or a copy has damaged, or a platform without a runtime, would otherwise
 * show at the first search, or in wrong results alone.
 * @param folder where the files are
 * @throws EncoderUnusableError
 */
export async function checkEncoder(
  folder: string = ENCODER_FOLDER,
  load: () => Promise<unknown> = loadRuntime,
): Promise<void> {
  // Each to its end: a process that ends while it still reads files may hang in its exit.
  const checks = await Promise.allSettled(
    Object.entries(HASHES).map(([name, expected]) => checkFile(join(folder, name), expected)),
  );
  const failed = checks.find((check) => check.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  try {
    await load();
  } catch (error) {
    const { platform, arch } = process;
    const reason = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
    throw new EncoderUnusableError(
      `The encoder's runtime (onnxruntime-node) doesn't load on ${platform} ${arch}: it needs glibc on Linux (${reason})`,
      { cause: error },
    );
  }
}

async function checkFile(path: string, expected: string): Promise<void> {
  const hash = createHash("sha256");
  try {
    await pipeline(createReadStream(path), hash);
  } catch (error) {
    throw new EncoderUnusableError(`The encoder's file ${path} can't be read`, { cause: error });
  }
  const found = hash.digest("hex");
  if (found !== expected) {
    throw new EncoderUnusableError(`The encoder's file ${path} has the SHA-256 ${found} instead of ${expected}`);
  }
}
