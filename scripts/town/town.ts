import { join } from "node:path";

import { Marketplace } from "../../sdk/src/index.ts";
import type { StackFacts } from "../demo/stack-facts.ts";
import { Bank } from "./bank.ts";
import { TownBuyer } from "./buyer.ts";
import type { Order } from "./buyer.ts";
import { BUYERS, SELLERS } from "./cast.ts";
import { Resident } from "./resident.ts";
import { TownSeller } from "./seller.ts";
import { residentKeys } from "./wallets.ts";

/** Where the deals of the town are. On `base` a seller needs a testnet score first. */
const DEAL_NETWORK = "base-sepolia";
/** So many of the newest listings are looked at. The town's own are among them. */
const LOOKED_AT = 20;
const MOST_PRICE = 5;

/** What the town needs. */
export interface TownOptions {
  facts: StackFacts;
  /** Folder of the residents' keys. */
  dir: string;
  log: (line: string) => void;
  /** Public address of the API, if it isn't that of `facts`. */
  publicUrl?: string | undefined;
  /** For tests: how long a slow seller and a late buyer take, in milliseconds. */
  delayMs?: number | undefined;
}

/** Scripted sellers and buyers on the local chains. The caller steps it: see `scripts/town/main.ts`. */
export class Town {
  readonly buyers: readonly TownBuyer[];
  readonly sellers: readonly TownSeller[];
  readonly #stop = new AbortController();
  readonly #fill: () => Promise<void>;
  readonly #watching: Promise<void>[] = [];
  readonly #hired = new Set<string>();
  #turn = 0;

  private constructor(
    buyers: (signal: AbortSignal) => TownBuyer[],
    sellers: (signal: AbortSignal) => TownSeller[],
    fill: () => Promise<void>,
  ) {
    this.buyers = buyers(this.#stop.signal);
    this.sellers = sellers(this.#stop.signal);
    this.#fill = fill;
  }

  /** Opens the town: gives its wallets money, registers its agents, lists its services and begins to answer. */
  static async open({ facts, dir, log, publicUrl, delayMs }: TownOptions): Promise<Town> {
    const parts = [...SELLERS, ...BUYERS];
    const keys = residentKeys(
      join(dir, "town.json"),
      parts.map(({ name }) => name),
    );
    const payingOn = await payingNetwork(facts.api);
    const bank = new Bank(facts.networks[DEAL_NETWORK]);
    const payingBank = payingOn === DEAL_NETWORK ? bank : new Bank(facts.networks[payingOn]);
    const wallets = parts.map(({ name }) => {
      const key = keys[name] ?? "0x";
      return { name, wallet: bank.walletOf(key), payer: payingBank.walletOf(key) };
    });
    const fill = async (): Promise<void> => {
      for (const { wallet, payer } of wallets) {
        await bank.fillUp(wallet);
        if (payingBank !== bank) await payingBank.fillUp(payer);
      }
    };
    await fill();
    const residents: Resident[] = [];
    for (const part of wallets) residents.push(await Resident.join({ ...part, url: facts.api, publicUrl, log }));
    const of = (index: number): Resident => residents[index] as Resident;
    const town = new Town(
      (signal) => BUYERS.map(({ taste }, index) => new TownBuyer(of(SELLERS.length + index), taste, signal, delayMs)),
      (signal) => SELLERS.map((part, index) => new TownSeller(of(index), part, signal, delayMs)),
      fill,
    );
    for (const seller of town.sellers) await seller.offer();
    for (const resident of [...town.sellers, ...town.buyers]) {
      const attend = (dealId: string) => resident.attend(dealId);
      town.#watching.push(resident.resident.watch(attend, town.#stop.signal));
    }
    return town;
  }

  /** The next buyer hires: the newest listing of a stranger where it may, else a seller of the town. */
  async turn(): Promise<void> {
    const turn = this.#turn;
    this.#turn += 1;
    const buyer = this.buyers[turn % this.buyers.length] as TownBuyer;
    await buyer.resident.attempt("an order", async () => {
      const [newest] = await this.#offersOfStrangers(buyer);
      const isWanted = newest !== undefined && buyer.mayDealWith(newest.seller);
      await this.#order(buyer, isWanted ? newest : this.#residentOffer(turn, buyer));
    });
  }

  /** A listing that nobody of the town has hired yet is hired by the first buyer that may. */
  async welcome(): Promise<void> {
    const scout = this.buyers[(this.#turn + 1) % this.buyers.length] as TownBuyer;
    await scout.resident.attempt("new listings", async () => {
      const fresh = (await this.#offersOfStrangers(scout)).filter(({ serviceId }) => !this.#hired.has(serviceId));
      for (const offer of fresh) {
        const buyer = this.#nextBuyers().find((candidate) => candidate.mayDealWith(offer.seller));
        if (buyer === undefined) continue;
        this.#turn += 1;
        await buyer.resident.attempt("an order", () => this.#order(buyer, offer));
      }
    });
  }

  /** Looks at every open deal, and sees to money and calls: what events and crashes have left. */
  async sweep(): Promise<void> {
    await this.#fill();
    for (const resident of [...this.sellers, ...this.buyers]) {
      await resident.resident.attempt("calls", () => resident.resident.keepCalls());
      await resident.resident.attempt("open deals", async () => {
        for (const dealId of await resident.resident.openDeals()) {
          // Not awaited: a slow seller takes its time.
          void resident.resident.attempt("a deal", () => resident.attend(dealId));
        }
      });
    }
  }

  /** Ends all waiting. Deals under way are looked at by the next start. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#watching);
  }

  async #order(buyer: TownBuyer, offer: Order): Promise<void> {
    this.#hired.add(offer.serviceId);
    await buyer.order(offer);
  }

  #nextBuyers(): TownBuyer[] {
    const from = this.#turn % this.buyers.length;
    return [...this.buyers.slice(from), ...this.buyers.slice(0, from)];
  }

  /** Each buyer meets each seller equally often. */
  #residentOffer(turn: number, buyer: TownBuyer): Order {
    const first = (turn + Math.floor(turn / this.buyers.length)) % this.sellers.length;
    const inOrder = [...this.sellers.slice(first), ...this.sellers.slice(0, first)];
    const seller = inOrder.find(({ resident }) => buyer.mayDealWith(resident.agentId)) ?? inOrder[0];
    if (seller === undefined) throw new Error("the town has no seller");
    return { serviceId: seller.serviceId, seller: seller.resident.agentId, isResident: true };
  }

  async #offersOfStrangers({ resident }: TownBuyer): Promise<Order[]> {
    const residents = new Set([...this.sellers, ...this.buyers].map((each) => each.resident.agentId));
    const listings = await resident.newestListings(LOOKED_AT);
    return listings.flatMap((listing) => {
      const { id, sellerAgentId, price, currency, network, callbackRequired } = listing;
      const isAffordable = currency === "USDC" && price <= MOST_PRICE;
      if (residents.has(sellerAgentId) || network !== DEAL_NETWORK || callbackRequired || !isAffordable) return [];
      return [{ serviceId: id, seller: sellerAgentId, isResident: false }];
    });
  }
}

/** The network on which the service takes payments for calls. */
async function payingNetwork(url: string): Promise<keyof StackFacts["networks"]> {
  const networks = await new Marketplace({ url }).networks();
  return networks.find(({ payments }) => payments !== null)?.network ?? DEAL_NETWORK;
}
