import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";

import { callerSigner } from "../../tools/src/index.ts";
import type { Taste } from "./cast.ts";
import type { Resident } from "./resident.ts";

const LATE_MS = 60_000;
const UNFAIR_EVERY = 3;
const MOST_PRICE = "5.00";

/** What a buyer orders. */
export interface Order {
  serviceId: string;
  /** The seller's agent id. */
  seller: string;
  /** Whether the seller lives in the town, so that the form of its result is known. */
  isResident: boolean;
}

const CRITERIA = {
  schema: { type: "object", required: ["summary"], properties: { summary: { type: "string" } } },
  checks: ["cel: words(result.summary) >= 2"],
};

/** A buyer of the town. */
export class TownBuyer {
  readonly resident: Resident;
  readonly #taste: Taste;
  readonly #signal: AbortSignal;
  readonly #lateMs: number;
  readonly #busy = new Set<string>();
  readonly #dealsWith = new Map<string, number>();
  #deals = 0;
  #judged = 0;

  constructor(resident: Resident, taste: Taste, signal: AbortSignal, lateMs = LATE_MS) {
    this.resident = resident;
    this.#taste = taste;
    this.#signal = signal;
    this.#lateMs = lateMs;
  }

  /** Whether another deal with a seller leaves at least half of the deals to others. The first is free. */
  mayDealWith(seller: string): boolean {
    const [deals, together] = [this.#deals + 1, (this.#dealsWith.get(seller) ?? 0) + 1];
    return deals === 1 || together * 2 <= deals;
  }

  /** Orders a service and pays for it. A late buyer checks out, and pays a while later. */
  async order({ serviceId, seller, isResident }: Order): Promise<void> {
    const id = randomUUID();
    const wish = {
      intentId: `town-${id}`,
      serviceId,
      maxPrice: MOST_PRICE,
      request: {
        task: "A practice order of the local town: answer with a JSON object, as your listing says.",
        order: id,
      },
      ...(isResident ? { criteria: CRITERIA } : {}),
      waitSeconds: 0,
    };
    this.#deals += 1;
    this.#dealsWith.set(seller, (this.#dealsWith.get(seller) ?? 0) + 1);
    if (this.#taste === "late") {
      await this.resident.call("hire", wish, callerSigner);
      await pause(this.#lateMs, undefined, { signal: this.#signal });
    }
    await this.resident.call("hire", wish);
  }

  /** Takes the next step of a deal: accepts, disputes, or takes back what was never delivered. */
  async attend(dealId: string): Promise<void> {
    if (this.#busy.has(dealId)) return;
    this.#busy.add(dealId);
    try {
      const { role, next } = await this.resident.call("get_deal", { dealId });
      if (role !== "buyer") return;
      const tools = (next as { tool: string }[]).map(({ tool }) => tool);
      if (tools.includes("accept")) await this.#judge(dealId);
      else if (tools.includes("reclaim"))
        await this.resident.call("reclaim", { intentId: `reclaim-${dealId}`, dealId });
    } finally {
      this.#busy.delete(dealId);
    }
  }

  async #judge(dealId: string): Promise<void> {
    const { result } = await this.resident.call("review_delivery", { dealId });
    this.#judged += 1;
    const isUnfair = this.#taste === "unfair" && this.#judged % UNFAIR_EVERY === 0;
    if (result !== "fail" && !isUnfair) {
      await this.resident.call("accept", { intentId: `accept-${dealId}`, dealId });
      return;
    }
    const reason = isUnfair
      ? "I don't like the style of this delivery, and I want my money back."
      : "The delivery fails the agreed criteria, as review_delivery shows.";
    await this.resident.call("dispute", { intentId: `dispute-${dealId}`, dealId, reason });
  }
}
