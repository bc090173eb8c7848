import { z } from "zod";

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const units = z.string().regex(/^\d{1,40}$/);
const time = z.iso.datetime();

/** What a ledger begins with. A later one carries over what was counted before. Amounts are millionths of a US dollar. */
const opened = z.strictObject({
  kind: z.literal("opened"),
  totalUsd: units,
  /** UTC day that `dayUsd` is of, such as 2026-11-28. */
  day: z.iso.date(),
  dayUsd: units,
  /** The limits that hold; null until some are set. */
  limitsHash: hash.nullable(),
});
/** The limits that hold from here on. */
const limited = z.strictObject({ kind: z.literal("limits"), hash });
/** A deal that waits for a person. */
const asked = z.strictObject({
  kind: z.literal("asked"),
  id: z.string(),
  dealId: z.string(),
  escrowId: z.string(),
  usd: units,
  /** What is shown to the person. */
  summary: z.string(),
  expiresAt: time,
});
const approved = z.strictObject({ kind: z.literal("approved"), id: z.string() });
/** A deal that the wallet may sign for. */
const spend = z.strictObject({
  kind: z.literal("spend"),
  dealId: z.string(),
  intentId: z.string(),
  escrowId: z.string(),
  network: z.string(),
  seller: z.string(),
  token: z.string(),
  /** Token units. */
  amount: units,
  usd: units,
  /** The approval that it used. */
  approval: z.string().nullable(),
});
/** A call that is paid for by x402. */
const payment = z.strictObject({
  kind: z.literal("payment"),
  /** EIP-3009 nonce. */
  nonce: z.string(),
  network: z.string(),
  usd: units,
});

const entrySchema = z.discriminatedUnion("kind", [opened, limited, asked, approved, spend, payment]);

export const recordSchema = z.strictObject({
  n: z.int().positive(),
  /** MAC of the record before; empty in the first. */
  previous: z.string(),
  at: time,
  entry: entrySchema,
  mac: hash,
});

/** Something that the ledger has written down. */
export type Entry = z.output<typeof entrySchema>;
/** An entry in its place in the chain. */
export type LedgerRecord = z.output<typeof recordSchema>;
/** A deal that the wallet may sign for. */
export type Spend = z.output<typeof spend>;
/** A deal that waits for a person. */
export type Asked = z.output<typeof asked>;

/** What the entries so far come to. */
export class LedgerState {
  count = 0;
  /** MAC of the last record. */
  last = "";
  totalUsd = 0n;
  limitsHash: string | undefined;
  readonly #days = new Map<string, bigint>();
  readonly #byDeal = new Map<string, Spend>();
  readonly #asked = new Map<string, Asked>();
  readonly #approved = new Set<string>();
  readonly #used = new Set<string>();

  add({ n, at, entry, mac }: LedgerRecord): void {
    this.count = n;
    this.last = mac;
    switch (entry.kind) {
      case "opened":
        this.totalUsd = BigInt(entry.totalUsd);
        this.#days.set(entry.day, BigInt(entry.dayUsd));
        this.limitsHash = entry.limitsHash ?? undefined;
        break;
      case "limits":
        this.limitsHash = entry.hash;
        break;
      case "asked":
        this.#asked.set(entry.id, entry);
        break;
      case "approved":
        this.#approved.add(entry.id);
        break;
      case "spend":
        this.#byDeal.set(entry.dealId, entry);
        if (entry.approval !== null) this.#used.add(entry.approval);
        this.#count(at, entry.usd);
        break;
      case "payment":
        this.#count(at, entry.usd);
        break;
    }
  }

  /** Millionths of a US dollar that were spent on a UTC day. */
  onDay(day: string): bigint {
    return this.#days.get(day) ?? 0n;
  }

  spendOf(dealId: string): Spend | undefined {
    return this.#byDeal.get(dealId);
  }

  /** The spends of an intent or an escrow. */
  spendsWith(match: (spend: Spend) => boolean): Spend[] {
    return [...this.#byDeal.values()].filter(match);
  }

  /** The request with this id, unless it was used up. */
  askedById(id: string): Asked | undefined {
    return this.#used.has(id) ? undefined : this.#asked.get(id);
  }

  /** The request for exactly this deal at exactly this amount that still holds. */
  openRequest({ dealId, escrowId, usd }: Pick<Asked, "dealId" | "escrowId" | "usd">, now: Date): Asked | undefined {
    return [...this.#asked.values()].find(
      (request) =>
        !this.#used.has(request.id) &&
        request.dealId === dealId &&
        request.escrowId === escrowId &&
        request.usd === usd &&
        Date.parse(request.expiresAt) > now.getTime(),
    );
  }

  isApproved(id: string): boolean {
    return this.#approved.has(id);
  }

  /** Requests that wait for a person. */
  waiting(now: Date): Asked[] {
    return [...this.#asked.values()].filter(
      ({ id, expiresAt }) => !this.#approved.has(id) && !this.#used.has(id) && Date.parse(expiresAt) > now.getTime(),
    );
  }

  #count(at: string, usd: string): void {
    this.totalUsd += BigInt(usd);
    const day = dayOf(new Date(at));
    this.#days.set(day, this.onDay(day) + BigInt(usd));
  }
}

/** The UTC day of a time, such as 2026-11-28. */
export function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}
