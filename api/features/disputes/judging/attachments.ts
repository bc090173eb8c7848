import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";

import { untilAborted } from "../../../lib/stopping.ts";
import { checkAddress } from "../../../outbound/address-check.ts";
import type { ResolveHost } from "../../../outbound/host-resolver.ts";
import { pinnedExchange } from "../../../outbound/pinned-exchange.ts";
import type { DisputeCase, Side } from "./case.ts";
import type { AttachedText } from "./prompt.ts";
import { cleanText, clip, quote } from "./texts.ts";

/** The text at a party's address, or the reason why it couldn't be read. */
export type Attachment = { text: string; bytes: number; sha256: string } | { failure: string };

/** Fetches attachments of evidence. */
export interface AttachmentFetcher {
  /** Never throws: a failure is in the result. */
  fetchText(url: string, signal: AbortSignal): Promise<Attachment>;
}

/** Settings of the fetcher. */
export interface AttachmentFetcherOptions {
  resolve: ResolveHost;
  /** As for webhooks: see WEBHOOK_ALLOW_PRIVATE_HOSTS. */
  allowedPrivateHosts: readonly string[];
  /** Timeout of one attachment in milliseconds, name resolution included; default 10 s. */
  timeoutMs?: number;
  /** Largest attachment in bytes; default 256 KB. */
  maxBytes?: number;
  /** Certificate authorities to trust instead of the well-known ones. */
  ca?: string;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_BYTES = 256 * 1024;
const TEXT_TYPE = /^(text\/[\w.+-]+|application\/([\w.-]+\+)?(json|xml|yaml|x-yaml|x-ndjson))$/;

/** An attachment couldn't be read. The message is shown to both parties, so it says nothing about our network. */
class AttachmentError extends Error {
  override readonly name = "AttachmentError";
}

/**
 * Fetches texts by https through the address check of webhooks: every address of the name is public, the connection
 * goes to an address that was checked, and redirects aren't followed.
 */
export function createAttachmentFetcher(options: AttachmentFetcherOptions): AttachmentFetcher {
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES;

  async function read(address: string, signal: AbortSignal): Promise<Buffer> {
    const url = URL.parse(address);
    if (url?.protocol !== "https:") throw new AttachmentError("not an https address");
    if (url.username !== "" || url.password !== "") throw new AttachmentError("the address has credentials in it");
    const check = checkAddress(url, options.resolve, options.allowedPrivateHosts, signal);
    const verdict = await untilAborted(check, signal);
    if (!verdict.allowed) throw new AttachmentError(verdict.reason);
    const headers = { accept: "text/*, application/json", "accept-encoding": "identity" };
    const { addresses } = verdict;
    return pinnedExchange(url, { method: "GET", headers, addresses, signal, ca: options.ca }, readBody);
  }

  async function readBody(answer: IncomingMessage): Promise<Buffer> {
    const { statusCode = 0, headers } = answer;
    if (statusCode >= 300 && statusCode < 400) throw new AttachmentError("it redirects, which isn't followed");
    if (statusCode !== 200) throw new AttachmentError(`its server answered ${statusCode}`);
    const type = (headers["content-type"] ?? "").split(";")[0] ?? "";
    if (!TEXT_TYPE.test(type.trim().toLowerCase())) throw new AttachmentError("not a text");
    if (!["", "identity"].includes(headers["content-encoding"] ?? "")) {
      throw new AttachmentError("it is compressed");
    }
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw new AttachmentError(`larger than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  return {
    async fetchText(url, signal) {
      const timedOut = AbortSignal.timeout(timeoutMs);
      try {
        const body = await read(url, AbortSignal.any([signal, timedOut]));
        const sha256 = createHash("sha256").update(body).digest("hex");
        return { text: new TextDecoder().decode(body), bytes: body.length, sha256: `0x${sha256}` };
      } catch (error) {
        if (error instanceof AttachmentError) return { failure: error.message };
        return { failure: timedOut.aborted ? `not there within ${timeoutMs} ms` : "its server couldn't be reached" };
      }
    },
  };
}

/** Texts of attachments that a judge reads, for each party: number, and length in UTF-16 units of each and of all. */
const MAX_ATTACHMENTS = 10;
const MAX_TEXT = 10_000;
const MAX_TEXTS = 30_000;

/** The attachments of a case. */
export interface ReadAttachments {
  texts: AttachedText[];
  /** A line for each attachment: what was read, or why not. */
  lines: string[];
  /** One line for each attachment that was cut or had hidden characters removed. */
  removed: string[];
}

/** Reads the attachments of both parties' evidence, each address once for each party. */
export async function readAttachments(
  { evidence }: DisputeCase,
  fetcher: AttachmentFetcher,
  signal: AbortSignal,
): Promise<ReadAttachments> {
  const read: ReadAttachments = { texts: [], lines: [], removed: [] };
  const sides: Side[] = ["buyer", "seller"];
  await Promise.all(
    sides.map(async (by) => {
      const urls = new Set(evidence.filter((item) => item.by === by).flatMap(({ attachments }) => attachments));
      const wanted = [...urls].slice(0, MAX_ATTACHMENTS);
      const found = await Promise.all(
        wanted.map(async (url) => ({ url, attachment: await fetcher.fetchText(url, signal) })),
      );
      signal.throwIfAborted();
      let room = MAX_TEXTS;
      for (const { url, attachment } of found) {
        const name = `Attachment ${quote(url)} of the ${by}`;
        if ("failure" in attachment) {
          read.lines.push(`${name} wasn't read: ${attachment.failure}.`);
          continue;
        }
        const clean = cleanText(attachment.text);
        const text = clip(clean.text, Math.min(room, MAX_TEXT));
        room -= text.length;
        read.texts.push({ by, url, text });
        read.lines.push(`${name} was read: ${attachment.bytes} bytes, SHA-256 ${attachment.sha256}.`);
        const what = [
          ...(clean.removed > 0 ? [`${clean.removed} hidden character${clean.removed === 1 ? "" : "s"} removed`] : []),
          ...(text.length < clean.text.length ? ["cut, because it is too long"] : []),
        ];
        if (what.length > 0) read.removed.push(`${name}: ${what.join("; ")}`);
      }
      if (urls.size > MAX_ATTACHMENTS) {
        read.lines.push(`${urls.size - MAX_ATTACHMENTS} more attachments of the ${by} weren't read.`);
      }
    }),
  );
  return read;
}
