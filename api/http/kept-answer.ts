import { canonicalJson } from "../lib/canonical-json.ts";
import type { Answer, RequestInput } from "./pipeline.ts";

/** An answer that can be kept for a repeat of its request: anything but a stream. */
export type KeptAnswer = Pick<Answer, "status" | "type" | "headers"> & { body: string | Buffer };

/** A kept answer as the database stores it. */
export interface StoredAnswer {
  status: number;
  type: string | null;
  headers: Record<string, string>;
  body: string;
  isBase64: boolean;
}

/** Whether an answer can be kept. A stream can't. */
export function isKeepable(answer: Answer): answer is KeptAnswer {
  return typeof answer.body === "string" || Buffer.isBuffer(answer.body);
}

export function storedAnswer({ status, type, headers, body }: KeptAnswer): StoredAnswer {
  const isBase64 = Buffer.isBuffer(body);
  const text = isBase64 ? body.toString("base64") : body;
  return { status, type: type ?? null, headers: { ...headers }, body: text, isBase64 };
}

export function keptAnswer({ status, type, headers, body, isBase64 }: StoredAnswer): KeptAnswer {
  return { status, type: type ?? undefined, headers, body: isBase64 ? Buffer.from(body, "base64") : body };
}

/** The canonical JSON of a request's validated input: two requests with the same text ask for the same thing. */
export function inputText(input: RequestInput): string {
  return canonicalJson(JSON.parse(JSON.stringify(input, bigintAsText)));
}

function bigintAsText(_name: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}
