import { encodeFunctionData, zeroAddress } from "viem";
import type { Account, Address, Hex, TransactionReceipt } from "viem";

import { escrowAbi } from "../../../api/chain/abis.ts";
import { HostileToken__factory } from "../../../typechain-types/factories/contracts/mocks/HostileToken__factory.ts";
import type { Marketplace } from "./marketplace.ts";

/** Moods of `HostileToken` in their order, and whether a deposit succeeds in each. */
const MOODS = [
  { name: "Plain", takesDeposits: true },
  { name: "Paused", takesDeposits: false },
  { name: "ReturnsFalse", takesDeposits: false },
  { name: "ReturnsNothing", takesDeposits: true },
  { name: "ReturnsShort", takesDeposits: false },
  { name: "ReturnsTwo", takesDeposits: false },
  { name: "TakesFee", takesDeposits: false },
  { name: "BurnsGas", takesDeposits: false },
  { name: "LongAnswer", takesDeposits: false },
  { name: "Reenters", takesDeposits: true },
  { name: "LiesOnDeposit", takesDeposits: false },
  { name: "DrainsOnDeposit", takesDeposits: false },
  { name: "NeedsGas", takesDeposits: true },
  { name: "ReturnsLongFalse", takesDeposits: false },
];
const PLAIN = 0;
/** Most accounts on the deny list. */
const MOST_DENIED = 2;
const PARTY_UNITS = 1_000_000_000n;

/** A listed escrow token with 6 decimals, worth one US dollar, whose transfers turn hostile. */
export class HostileToken {
  readonly address: Address;
  /** Deposits that it made fail. */
  refusals = 0;
  readonly #market: Marketplace;
  readonly #denied = new Set<string>();
  #mood = PLAIN;

  private constructor(market: Marketplace, address: Address) {
    this.#market = market;
    this.address = address;
  }

  /** Deploys and lists a token. */
  static async list(market: Marketplace): Promise<HostileToken> {
    const owner = market.role("owner");
    const address = await market.deploy(owner, HostileToken__factory.abi, HostileToken__factory.bytecode);
    const config = { feed: zeroAddress, maxPriceAge: 0, decimals: 6, listed: true, minAmount: 10_000n };
    await market.confirmed(market.escrowAs(owner).write.listToken([address, config]));
    return new HostileToken(market, address);
  }

  /** Gives a wallet units that the escrow contract may draw. */
  async give(account: Account): Promise<void> {
    await this.#market.confirmed(this.#contract().write.mint([account.address, PARTY_UNITS]));
    await this.#market.allow(account, this.address);
  }

  /** Whether a deposit of this wallet succeeds now. */
  takesDepositOf({ address }: Account): boolean {
    return MOODS[this.#mood]?.takesDeposits === true && !this.#denied.has(address);
  }

  /** Another mood, every other time the plain one, or a change of the deny list. Re-entries try to finalize an escrow. */
  async change(random: () => number, accounts: readonly Account[], escrowId: Hex): Promise<TransactionReceipt> {
    if (random() < 0.3) return await this.#toggleDenied(random, accounts);
    const mood = random() < 0.5 ? PLAIN : Math.floor(random() * MOODS.length);
    if (MOODS[mood]?.name === "Reenters") {
      const data = encodeFunctionData({ abi: escrowAbi, functionName: "finalize", args: [escrowId] });
      await this.#market.confirmed(this.#contract().write.setCallback([this.#market.escrow, data]));
    }
    return await this.#setMood(mood);
  }

  /** Makes its transfers plain again. The deny list stays. */
  async calmDown(): Promise<void> {
    await this.#setMood(PLAIN);
  }

  async #setMood(mood: number): Promise<TransactionReceipt> {
    this.#mood = mood;
    return await this.#market.confirmed(this.#contract().write.setMood([mood]));
  }

  async #toggleDenied(random: () => number, accounts: readonly Account[]): Promise<TransactionReceipt> {
    const full = this.#denied.size >= MOST_DENIED;
    const candidates = full ? accounts.filter(({ address }) => this.#denied.has(address)) : accounts;
    const account = candidates[Math.floor(random() * candidates.length)];
    if (account === undefined) throw new Error("there is nobody to deny");
    const isDenied = !this.#denied.delete(account.address);
    if (isDenied) this.#denied.add(account.address);
    return await this.#market.confirmed(this.#contract().write.setDenied([account.address, isDenied]));
  }

  #contract() {
    return this.#market.contractAs(this.#market.role("owner"), this.address, HostileToken__factory.abi);
  }
}
