import { createHash } from "node:crypto";

import { canonicalJson } from "../../../lib/canonical-json.ts";
import type { CriteriaDocument } from "../../criteria/document.ts";
import type { DisputeCase, SubmittedEvidence } from "./case.ts";
import { cleanText, clip, hasContent } from "./texts.ts";

/** A case as a judge sees it: bounded, and without hidden characters. */
export interface SanitisedCase {
  dispute: DisputeCase;
  /** One line for each field that was cut or had hidden characters removed, up to a bound; a last line counts the rest. */
  removed: string[];
  /** Whether a part of the payload was cut. */
  isPayloadCut: boolean;
  /** Whether the payload, uncut, has no value but empty texts, nulls, empty lists and empty objects. */
  isPayloadEmpty: boolean;
}

/** Bounds of what a judge reads, in UTF-16 units and entries. A text of a party fits; what is left out is reported. */
const LIMITS = {
  depth: 16,
  entries: 1_000,
  key: 200,
  payload: 60_000,
  criteria: 40_000,
  reason: 5_000,
  statements: 30_000,
  evidence: 5_000,
  attachments: 10,
  url: 2_048,
  detail: 500,
  check: 2_000,
  path: 120,
  lines: 40,
};

/** Room that each value takes, beside its text. */
const VALUE_ROOM = 4;

/** Copies a stranger's texts and values within bounds, and notes the fields that it cuts or cleans. */
class Copier {
  readonly #notes = new Map<string, { removed: number; cut: boolean }>();

  /** Cleans a text and clips it to the room that is left; `room` is shared by a field and everything in it. */
  text(path: string, text: string, room: { left: number }): string {
    const clean = cleanText(text);
    const kept = clip(clean.text, Math.max(0, room.left));
    room.left -= kept.length;
    if (clean.removed > 0) this.#note(path).removed += clean.removed;
    if (kept !== clean.text) this.#note(path).cut = true;
    return kept;
  }

  value(path: string, value: unknown, room: { left: number }, depth = 0): unknown {
    // A value without a text takes room too, as does the punctuation around it.
    room.left -= VALUE_ROOM;
    if (typeof value === "string") return this.text(path, value, room);
    if (typeof value !== "object" || value === null) return value;
    if (depth >= LIMITS.depth) {
      if (Object.keys(value).length > 0) this.#note(path).cut = true;
      return Array.isArray(value) ? [] : {};
    }
    if (Array.isArray(value)) {
      const copy: unknown[] = [];
      for (const item of this.#entries(path, value, room)) {
        copy.push(this.value(`${path}[${copy.length}]`, item, room, depth + 1));
      }
      return copy;
    }
    const copy = new Map<string, unknown>();
    for (const [key, inner] of this.#entries(path, Object.entries(value), room)) {
      if (inner === undefined) continue;
      const name = this.#freeName(copy, this.text(`${path}, a key`, key, { left: LIMITS.key }));
      room.left -= name.length;
      copy.set(name, this.value(`${path}.${name}`, inner, room, depth + 1));
    }
    return Object.fromEntries(copy);
  }

  /** One line for each field that isn't as its author wrote it. */
  lines(): string[] {
    const lines = [...this.#notes].map(([path, { removed, cut }]) => {
      const what = [
        ...(removed > 0 ? [`${removed} hidden character${removed === 1 ? "" : "s"} removed`] : []),
        ...(cut ? ["cut, because it is too long or too deep"] : []),
      ];
      return `${path}: ${what.join("; ")}`;
    });
    const rest = lines.length - LIMITS.lines;
    return rest > 0 ? [...lines.slice(0, LIMITS.lines), `${rest} more fields: characters removed or cut`] : lines;
  }

  isCut(field: string): boolean {
    return [...this.#notes].some(([path, { cut }]) => cut && path.startsWith(field));
  }

  #note(path: string): { removed: number; cut: boolean } {
    // A path has keys in it that a party wrote.
    const name = path.length > LIMITS.path ? `${clip(path, LIMITS.path)}…` : path;
    const note = this.#notes.get(name) ?? { removed: 0, cut: false };
    this.#notes.set(name, note);
    return note;
  }

  /** The entries of a list or object for which there is room. */
  *#entries<T>(path: string, entries: readonly T[], room: { left: number }): Generator<T> {
    for (const [index, entry] of entries.entries()) {
      if (index >= LIMITS.entries || room.left <= 0) {
        this.#note(path).cut = true;
        return;
      }
      yield entry;
    }
  }

  /** Two keys may be the same without their hidden characters. Neither may hide the other. */
  #freeName(taken: ReadonlyMap<string, unknown>, name: string): string {
    if (!taken.has(name)) return name;
    let number = 2;
    while (taken.has(`${name} (${number})`)) number += 1;
    return `${name} (${number})`;
  }
}

/** The case as a judge sees it. Every text of a party is cleaned and bounded, keys of payloads included. */
export function sanitisedCase({ payload, criteria, ...dispute }: DisputeCase): SanitisedCase {
  const copier = new Copier();
  const detail = (path: string, text: string): string => copier.text(path, text, { left: LIMITS.detail });
  const statements = { buyer: { left: LIMITS.statements }, seller: { left: LIMITS.statements } };
  const evidence = dispute.evidence.map((item, index): SubmittedEvidence => {
    const path = `evidence ${index + 1} (${item.by})`;
    const room = { left: Math.min(LIMITS.evidence, statements[item.by].left) };
    const description = copier.text(path, item.description, room);
    statements[item.by].left -= description.length;
    const attachments = item.attachments
      .slice(0, LIMITS.attachments)
      .map((url, number) => copier.text(`${path}, attachment ${number + 1}`, url, { left: LIMITS.url }));
    return { by: item.by, type: item.type, description, attachments };
  });
  const seen: DisputeCase = {
    criteria: copier.value("criteria", criteria, { left: LIMITS.criteria }) as CriteriaDocument | null,
    payload: copier.value("payload", payload, { left: LIMITS.payload }) as Record<string, unknown> | null,
    handover: dispute.handover,
    facts: dispute.facts.map((fact) => ({ ...fact, detail: detail(`fact ${fact.name}`, fact.detail) })),
    checks: dispute.checks.map((check, index) => ({
      ...check,
      text: copier.text(`check ${index + 1}`, check.text, { left: LIMITS.check }),
      detail: detail(`check ${index + 1}, detail`, check.detail),
    })),
    reason: dispute.reason === null ? null : copier.text("reason", dispute.reason, { left: LIMITS.reason }),
    evidence,
  };
  return {
    dispute: seen,
    removed: copier.lines(),
    isPayloadCut: copier.isCut("payload"),
    isPayloadEmpty: !hasContent(payload),
  };
}

/** SHA-256 of the canonical JSON of the case as a judge sees it. */
export function hashInput({ dispute }: SanitisedCase): `0x${string}` {
  return `0x${createHash("sha256").update(canonicalJson(dispute)).digest("hex")}`;
}
