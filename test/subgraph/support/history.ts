import { ContractFunctionExecutionError, keccak256, parseAbi, stringToHex } from "viem";
import type { Account, Address, Hex, PrivateKeyAccount, TransactionReceipt } from "viem";

import { rejectionOf } from "../../fixtures/rejection.ts";
import { HostileToken } from "./hostile-token.ts";
import type { Marketplace } from "./marketplace.ts";

const RATIONALE = keccak256(stringToHex("What was delivered, and what was asked."));
const FAR_DEADLINE = 10n ** 11n;
const SYSTEM = 0;
/** Most accounts on the token's deny list, and most sellers who take no escrow. */
const MOST_EXCLUDED = 2;
const REVERTING_CODE = "0x60006000fd";
const denyListAbi = parseAbi(["function blacklist(address account)", "function unBlacklist(address account)"]);

type State = "Funded" | "Delivered" | "Disputed" | "Over";

/** An escrow as the one who plays it knows it. */
interface Deal {
  readonly id: Hex;
  readonly buyer: PrivateKeyAccount;
  readonly seller: PrivateKeyAccount;
  readonly token: Address;
  /** The system resolver of the time of its creation, who alone of them may rule it. */
  readonly ruler: Account;
  state: State;
}

/** A move that an account can make now. */
interface Move {
  readonly by: Account;
  readonly play: () => Promise<void>;
}

/**
 * Random deals between a few parties on one network, in USDC that denies accounts and in a token that turns hostile, with
 * a score contract that fails and roles that change hands.
 */
export class History {
  readonly deals: Deal[] = [];
  readonly parties: PrivateKeyAccount[] = [];
  readonly rulers: Account[];
  readonly treasuries: Account[];
  /** The last transaction of all. */
  last: TransactionReceipt | undefined;
  readonly #market: Marketplace;
  /** Some of the deals are in this one, the others in USDC. */
  readonly hostile: HostileToken;
  readonly #random: () => number;
  readonly #denied = new Set<string>();
  readonly #closed = new Set<string>();
  readonly #scoreCode: Hex;
  #scoreFails = false;

  private constructor(market: Marketplace, random: () => number, scoreCode: Hex, hostile: HostileToken) {
    this.#market = market;
    this.hostile = hostile;
    this.#random = random;
    this.#scoreCode = scoreCode;
    this.rulers = [market.role("systemResolver")];
    this.treasuries = [market.role("treasury")];
  }

  static async open(market: Marketplace, random: () => number, parties: number): Promise<History> {
    const scoreCode = await market.client.getCode({ address: market.score });
    if (scoreCode === undefined) throw new Error("the score contract has no code");
    const history = new History(market, random, scoreCode, await HostileToken.list(market));
    while (history.parties.length < parties) {
      const party = await market.newParty();
      await history.hostile.give(party);
      history.parties.push(party);
    }
    return history;
  }

  /** One round: something about the contracts may change, then each account makes a move at most. */
  async playRound(): Promise<void> {
    await this.#disturb();
    const moves = [...this.#creations(), ...this.deals.flatMap((deal) => this.#movesOf(deal))];
    const busy = new Set<string>();
    const chosen: Move[] = [];
    for (const move of this.#shuffled(moves)) {
      if (busy.has(move.by.address) || this.#random() < 0.3) continue;
      busy.add(move.by.address);
      chosen.push(move);
    }
    await Promise.all(chosen.map(({ play }) => play()));
  }

  /** Ends a failure of the score contract, whose scores can't be read meanwhile. */
  async repairScore(): Promise<void> {
    this.#scoreFails = false;
    await this.#market.client.setCode({ address: this.#market.score, bytecode: this.#scoreCode });
  }

  /** Ends what nobody moved, each kind as soon as its time has come, but for about one deal in ten of each. */
  async playEnds(): Promise<void> {
    await this.repairScore();
    await this.#market.passTime(86_400 + 3_601);
    for (const deal of this.deals) {
      if (this.#random() < 0.1) continue;
      const buyer = this.#market.escrowAs(deal.buyer);
      if (deal.state === "Funded") await this.#move(deal, "Over", buyer.write.claimAbandoned([deal.id]));
      else if (deal.state === "Delivered") await this.#move(deal, "Over", buyer.write.finalize([deal.id]));
    }
    await this.#market.passTime(30 * 86_400);
    for (const deal of this.deals) {
      if (deal.state !== "Disputed" || this.#random() < 0.1) continue;
      await this.#move(deal, "Over", this.#market.escrowAs(deal.seller).write.resolveExpired([deal.id]));
    }
  }

  /** Retries failed scores and draws credits, but for some of each. */
  async claim(): Promise<void> {
    for (const { id, seller } of this.deals) {
      const escrow = this.#market.escrowAs(seller);
      const actions = await escrow.read.nextActions([id]);
      const retry = actions.length === 1 && (await escrow.read.getEscrow([id])).state >= 3;
      if (retry && this.#random() < 0.7) await this.#confirmed(escrow.write.retryScore([id]));
    }
    await this.hostile.calmDown();
    const recipient = await this.#market.newParty();
    for (const token of [this.#market.usdc, this.hostile.address]) {
      for (const account of [...this.parties, ...this.treasuries]) {
        const escrow = this.#market.escrowAs(account);
        const credit = await escrow.read.creditOf([account.address, token]);
        if (credit === 0n || this.#random() < 0.3) continue;
        await this.#confirmed(escrow.write.withdrawTo([token, recipient.address]));
      }
    }
  }

  #creations(): Move[] {
    // The escrow contract asks the score contract for the parties' caps.
    if (this.#scoreFails) return [];
    const open = this.parties.filter(({ address }) => !this.#closed.has(address));
    return this.parties.flatMap((buyer) => {
      const isHostile = this.#random() < 0.4;
      if (!isHostile && this.#denied.has(buyer.address)) return [];
      const token = isHostile ? this.hostile.address : this.#market.usdc;
      const seller = this.#pick(open.filter((one) => one !== buyer));
      return seller === undefined ? [] : [{ by: buyer, play: () => this.#create(buyer, seller, token) }];
    });
  }

  async #create(buyer: PrivateKeyAccount, seller: PrivateKeyAccount, token: Address): Promise<void> {
    const amount = 10_000n + BigInt(Math.floor(this.#random() * 9_000_000));
    const ruler = this.rulers.at(-1);
    if (ruler === undefined) throw new Error("nobody rules");
    const created = this.#market.createEscrow(buyer, seller, { amount, token, disputeWindow: 86_400n });
    if (token === this.hostile.address && !this.hostile.takesDepositOf(buyer)) {
      await rejectionOf(created, ContractFunctionExecutionError);
      this.hostile.refusals += 1;
      return;
    }
    const { id, receipt } = await created;
    this.#remember(receipt);
    this.deals.push({ id, buyer, seller, token, ruler, state: "Funded" });
  }

  #movesOf(deal: Deal): Move[] {
    const { id, buyer, seller, ruler } = deal;
    const [asBuyer, asSeller] = [this.#market.escrowAs(buyer), this.#market.escrowAs(seller)];
    const dice = this.#random();
    if (deal.state === "Funded" && dice < 0.15) {
      return [{ by: seller, play: () => this.#move(deal, "Over", asSeller.write.refund([id])) }];
    }
    if (deal.state === "Funded" && dice < 0.8) {
      return [
        { by: seller, play: () => this.#move(deal, "Delivered", asSeller.write.submitDelivery([id, RATIONALE])) },
      ];
    }
    if (deal.state === "Delivered" && dice < 0.4) {
      return [{ by: buyer, play: () => this.#move(deal, "Over", asBuyer.write.accept([id])) }];
    }
    if (deal.state === "Delivered" && dice < 0.8) {
      return [{ by: buyer, play: () => this.#move(deal, "Disputed", asBuyer.write.openDispute([id])) }];
    }
    if (deal.state !== "Disputed") return [];
    if (dice < 0.4) {
      const rule = () =>
        this.#market.resolverAs(ruler).write.resolveBySystem([id, Math.floor(this.#random() * 3), RATIONALE]);
      return [{ by: ruler, play: () => this.#move(deal, "Over", rule()) }];
    }
    const percent = BigInt(Math.floor(this.#random() * 101));
    if (dice < 0.6) {
      const admin = this.#market.role("adminResolver");
      const rule = () =>
        this.#market.resolverAs(admin).write.resolveByAdmin([id, 2, percent, 100n - percent, RATIONALE]);
      return [{ by: admin, play: () => this.#move(deal, "Over", rule()) }];
    }
    return dice < 0.85 ? [{ by: buyer, play: () => this.#move(deal, "Over", this.#agree(deal, percent)) }] : [];
  }

  async #agree({ id, buyer, seller }: Deal, percent: bigint): Promise<Hex> {
    const resolver = this.#market.resolverAs(buyer);
    const hash = await resolver.read.agreementDigest([id, percent, FAR_DEADLINE]);
    const signatures = [await buyer.sign({ hash }), await seller.sign({ hash })] as const;
    return await resolver.write.resolveByAgreement([id, percent, FAR_DEADLINE, signatures]);
  }

  async #move(deal: Deal, state: State, sent: Promise<Hex>): Promise<void> {
    await this.#confirmed(sent);
    deal.state = state;
  }

  /** Changes something that isn't a move of an escrow, or nothing. */
  async #disturb(): Promise<void> {
    const [anyDeal, everyone] = [this.#pick(this.deals), [...this.parties, ...this.treasuries]];
    if (anyDeal !== undefined && this.#random() < 0.35) {
      this.#remember(await this.hostile.change(this.#random, everyone, anyDeal.id));
    }
    const dice = this.#random();
    // Nothing is created meanwhile, so it mustn't last.
    if (this.#scoreFails && dice < 0.7) {
      await this.repairScore();
      return;
    }
    if (dice < 0.35) await this.#toggleDenied();
    else if (dice < 0.5) await this.#breakScore();
    else if (dice < 0.65) await this.#setTerms();
    else if (dice < 0.75) await this.#changeTreasury();
    else if (dice < 0.85) await this.#changeRuler();
  }

  async #toggleDenied(): Promise<void> {
    const everyone = [...this.parties, ...this.treasuries];
    // Those on the list can't buy, so it stays short.
    const full = this.#denied.size >= MOST_EXCLUDED;
    const account = this.#pick(full ? everyone.filter(({ address }) => this.#denied.has(address)) : everyone);
    if (account === undefined) return;
    const usdc = this.#market.contractAs(this.#market.role("owner"), this.#market.usdc, denyListAbi);
    if (this.#denied.delete(account.address)) await this.#confirmed(usdc.write.unBlacklist([account.address]));
    else {
      this.#denied.add(account.address);
      await this.#confirmed(usdc.write.blacklist([account.address]));
    }
  }

  async #breakScore(): Promise<void> {
    this.#scoreFails = true;
    await this.#market.client.setCode({ address: this.#market.score, bytecode: REVERTING_CODE });
  }

  async #setTerms(): Promise<void> {
    const full = this.#closed.size >= MOST_EXCLUDED;
    const seller = this.#pick(full ? this.parties.filter(({ address }) => this.#closed.has(address)) : this.parties);
    if (seller === undefined) return;
    const closing = !this.#closed.delete(seller.address);
    if (closing) this.#closed.add(seller.address);
    await this.#confirmed(this.#market.escrowAs(seller).write.setSellerTerms([1n, this.deals.length, closing]));
  }

  async #changeTreasury(): Promise<void> {
    const next = await this.#market.newParty();
    this.treasuries.push(next);
    const owner = this.#market.escrowAs(this.#market.role("owner"));
    await this.#confirmed(owner.write.setTreasury([next.address]));
  }

  async #changeRuler(): Promise<void> {
    const next = await this.#market.newParty();
    const owner = this.#market.resolverAs(this.#market.role("owner"));
    await this.#confirmed(owner.write.transferResolver([SYSTEM, next.address]));
    await this.#confirmed(this.#market.resolverAs(next).write.acceptResolver([SYSTEM]));
    // The new one rules escrows from the next second on.
    await this.#market.passTime(2);
    this.rulers.push(next);
  }

  async #confirmed(sent: Promise<Hex>): Promise<void> {
    this.#remember(await this.#market.confirmed(sent));
  }

  #remember(receipt: TransactionReceipt): void {
    if (this.last === undefined || receipt.blockNumber >= this.last.blockNumber) this.last = receipt;
  }

  #pick<T>(of: readonly T[]): T | undefined {
    return of[Math.floor(this.#random() * of.length)];
  }

  #shuffled<T>(of: readonly T[]): T[] {
    return of
      .map((one) => ({ one, at: this.#random() }))
      .sort((a, b) => a.at - b.at)
      .map(({ one }) => one);
  }
}
