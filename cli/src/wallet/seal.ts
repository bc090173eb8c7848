import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";

import { hexToBytes } from "viem";
import type { Hex } from "viem";

import { canonicalJson } from "../../../sdk/src/index.ts";

const KEY_BYTES = 32;

/** What a seal is for. Each has a key of its own, so that no file can stand in for another. */
export type SealPurpose = "pins" | "limits" | "ledger" | "head";

/** Authenticates records with a key that is derived from the wallet's private key. It can't sign for the wallet. */
export class Seal {
  readonly #key: Buffer;

  /** @param privateKey the wallet's key, which isn't kept */
  constructor(privateKey: Hex, purpose: SealPurpose) {
    const info = `agent-marketplace/cli/${purpose}/v1`;
    this.#key = Buffer.from(hkdfSync("sha256", hexToBytes(privateKey), Buffer.alloc(0), info, KEY_BYTES));
  }

  /** HMAC-SHA256 of a value's canonical JSON, in hexadecimal. */
  macOf(value: unknown): string {
    return createHmac("sha256", this.#key).update(canonicalJson(value)).digest("hex");
  }

  isMacOf(mac: unknown, value: unknown): boolean {
    if (typeof mac !== "string") return false;
    const expected = Buffer.from(this.macOf(value));
    const given = Buffer.from(mac);
    return given.length === expected.length && timingSafeEqual(given, expected);
  }

  /** The text of a file that holds an authenticated value. */
  close(content: unknown): string {
    return `${JSON.stringify({ content, mac: this.macOf(content) }, null, 2)}\n`;
  }

  /** The value of such a text; undefined if it was altered, or closed with another key. */
  open(text: string): unknown {
    try {
      const { content, mac } = JSON.parse(text) as { content?: unknown; mac?: unknown };
      return this.isMacOf(mac, content) ? content : undefined;
    } catch {
      return undefined;
    }
  }
}
