import { canonicalJson } from "../lib/canonical-json.ts";
import type { RequestInput, RouteResponse } from "./pipeline.ts";

/** A response that can be stored for a repeat of its request: anything but a stream. */
export type StorableResponse = Pick<RouteResponse, "status" | "type" | "headers"> & { body: string | Buffer };

/** A response as the database stores it. */
export interface StoredResponse {
  status: number;
  type: string | null;
  headers: Record<string, string>;
  body: string;
  isBase64: boolean;
}

/** Whether a response can be stored. A stream can't. */
export function isStorable(answer: RouteResponse): answer is StorableResponse {
  return typeof answer.body === "string" || Buffer.isBuffer(answer.body);
}

export function toStoredResponse({ status, type, headers, body }: StorableResponse): StoredResponse {
  const isBase64 = Buffer.isBuffer(body);
  const text = isBase64 ? body.toString("base64") : body;
  return { status, type: type ?? null, headers: { ...headers }, body: text, isBase64 };
}

export function fromStoredResponse({ status, type, headers, body, isBase64 }: StoredResponse): StorableResponse {
  return { status, type: type ?? undefined, headers, body: isBase64 ? Buffer.from(body, "base64") : body };
}

/** The canonical JSON of a request's validated input: two requests with the same text ask for the same thing. */
export function inputText(input: RequestInput): string {
  return canonicalJson(JSON.parse(JSON.stringify(input, bigintAsText)));
}

function bigintAsText(_name: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}
