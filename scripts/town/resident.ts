import { setTimeout as pause } from "node:timers/promises";

import { isTransient, Marketplace } from "../../sdk/src/index.ts";
import type { Agent, Wallet } from "../../sdk/src/index.ts";
import { TOOLS, walletSigner } from "../../tools/src/index.ts";
import type { Refusal, Signer } from "../../tools/src/index.ts";

/** What a resident needs. */
export interface ResidentOptions {
  /** Address of the API. */
  url: string;
  /** Its public address, which sign-in messages name; `url` by default. */
  publicUrl?: string | undefined;
  name: string;
  /** The wallet on the chain of the deals. */
  wallet: Wallet;
  /** The same wallet on the chain where calls are paid for. */
  payer: Wallet;
  log: (line: string) => void;
}

/** The data of a tool's answer, as JSON. */
type Answer = Record<string, unknown>;

/** A tool refused. */
export class TownRefusal extends Error {
  override readonly name = "TownRefusal";
  readonly code: string;

  constructor(tool: string, { code, message }: Refusal) {
    super(`${tool}: ${code}: ${message}`);
    this.code = code;
  }
}

const MAX_CALL_USD = 60_000_000n;
const MAX_DAY_USD = 500_000_000n;
/** Below this part of a day's budget, a pack is bought. */
const LOW_BUDGET = 0.2;
const RETRY_MS = 5_000;
const OPEN_STATES = ["funded", "delivered"] as const;

/** An agent of the town: it calls the tools, and looks at each of its deals whenever something happens there. */
export class Resident {
  readonly name: string;
  readonly agentId: string;
  readonly log: (line: string) => void;
  readonly #agent: Agent;
  readonly #market: Marketplace;
  readonly #signer = walletSigner();

  private constructor(agentId: string, agent: Agent, market: Marketplace, { name, log }: ResidentOptions) {
    this.agentId = agentId;
    this.name = name;
    this.log = log;
    this.#agent = agent;
    this.#market = market;
  }

  /** Registers the wallet, or signs in to it. */
  static async join(options: ResidentOptions): Promise<Resident> {
    const { url, publicUrl, name, wallet, payer } = options;
    const payments = { wallet: payer, maxPerCallUsd: MAX_CALL_USD, maxPerDayUsd: MAX_DAY_USD };
    const market = new Marketplace({ url, publicUrl, payments });
    // The key is in .local/town.json, so a browser may look at what the agent does.
    await market.listStackWallet({ wallet });
    const { agent, agentId } = await market.registerOrSignIn({ agentName: name, wallet });
    return new Resident(agentId, agent, market, options);
  }

  /** The listings on offer, newest first. */
  async newestListings(limit: number) {
    const found = [];
    for await (const listing of this.#agent.listings.list({ sort: "newest", limit })) {
      found.push(listing);
      if (found.length === limit) break;
    }
    return found;
  }

  /** Own active listings. */
  async ownListings() {
    const found = [];
    for await (const listing of this.#agent.listings.list({ sellerId: this.agentId })) found.push(listing);
    return found;
  }

  /**
   * Calls a tool.
   * @param signer `callerSigner` to leave moves on chain undone; the wallet by default
   * @throws TownRefusal
   */
  async call(name: string, input: Answer, signer: Signer = this.#signer): Promise<Answer> {
    const tool = TOOLS.find((candidate) => candidate.name === name);
    if (tool === undefined) throw new Error(`there is no tool ${name}`);
    const result = await tool.run({ market: this.#market, agent: this.#agent, signer }, input);
    if (result.isError) throw new TownRefusal(name, result);
    return result.data;
  }

  /** Ids of the deals that may wait for this resident. */
  async openDeals(): Promise<string[]> {
    const ids: string[] = [];
    for (const state of OPEN_STATES) {
      const { deals } = await this.call("list_deals", { state, limit: 50 });
      for (const { dealId } of deals as { dealId: string }[]) ids.push(dealId);
    }
    return ids;
  }

  /** Gives the deal of each event to `attend`, until `signal` is aborted. What fails is logged, and comes again with the next sweep. */
  async watch(attend: (dealId: string) => Promise<void>, signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        for await (const { transactionId } of this.#agent.events.stream({ signal })) {
          if (transactionId !== null) void this.attempt("a deal", () => attend(transactionId));
        }
      } catch (error) {
        if (signal.aborted) return;
        this.log(`${this.name}: events: ${String(error)}`);
        await pause(RETRY_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** Does something, and logs why it failed. */
  async attempt(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const isOrdinary = error instanceof TownRefusal || isTransient(error);
      this.log(`${this.name}: ${what}: ${isOrdinary ? (error as Error).message : String(error)}`);
    }
  }

  /** Buys a pack of every class of calls whose budget is nearly used up. */
  async keepCalls(): Promise<void> {
    const { budgets, prepaid } = await this.#agent.account.usage();
    const low = (Object.keys(budgets) as (keyof typeof budgets)[]).filter((name) => {
      const { limit, remaining } = budgets[name];
      return remaining + prepaid[name] < limit * LOW_BUDGET;
    });
    if (low.length === 0) return;
    const packs = await this.#agent.packs.list();
    for (const name of low) {
      const pack = packs.find((candidate) => candidate.class === name);
      if (pack === undefined) continue;
      await this.#agent.packs.buy(pack.packId);
      this.log(`${this.name}: bought ${String(pack.calls)} calls of ${name}`);
    }
  }
}
