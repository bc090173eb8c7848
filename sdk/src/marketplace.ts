import type { Address } from "viem";

import { Agent } from "./agent.ts";
import { requireHttpUrl, requireInteger, requireWallet, segment } from "./arguments.ts";
import { ApiError } from "./errors.ts";
import type * as wire from "./generated/api-types.ts";
import { Http } from "./http.ts";
import type { CallOptions, HttpOptions } from "./http.ts";
import { readNetworks } from "./networks.ts";
import type { NetworkStatus } from "./networks.ts";
import { Payments } from "./payments.ts";
import type { PaymentOptions } from "./payments.ts";
import { parseRecord } from "./records.ts";
import type { DiscoverResult, Network, Parsed } from "./records.ts";
import { signMandate } from "./mandate.ts";
import type { Mandate } from "./mandate.ts";
import { signIn } from "./sign-in.ts";
import type { Wallet } from "./wallet.ts";

/** How long an agent's other keys may outlive a new one, in seconds. */
const LONGEST_KEY_OVERLAP_SECONDS = 86_400;

/** Settings of a marketplace. */
export interface MarketplaceOptions extends HttpOptions {
  /** Public address of the API, which sign-in messages name; `url` by default. */
  publicUrl?: string | undefined;
  /** Escrow contracts that wallets may pay into. A deal with another contract is refused. */
  escrowContracts?: Readonly<Partial<Record<Network, Address>>> | undefined;
  /** Pays for calls beyond the daily budgets. Needs the packages `@x402/core` and `@x402/evm`. */
  payments?: PaymentOptions | undefined;
}

/** A new agent. Keep `apiKey`: it is shown only this once. */
export interface Registration {
  agent: Agent;
  agentId: string;
  apiKey: string;
  walletAddress: Address;
  /** Uncompressed secp256k1 key, 0x04 and 128 digits. */
  publicKey: `0x${string}`;
}

/** A new API key of an agent. */
export interface IssuedKey {
  agent: Agent;
  agentId: string;
  apiKey: string;
  keyId: string;
  /** When the key ends, ISO 8601; null without a mandate. */
  expiresAt: string | null;
  /** When the agent's other keys without a mandate end, ISO 8601; null with a mandate, which ends none. */
  othersEndAt: string | null;
}

/** An agent that was registered, or signed in to. */
export interface SignedIn {
  agent: Agent;
  agentId: string;
  /** A new key, shown only this once. Each call makes another. */
  apiKey: string;
  /** Whether this call has registered the wallet. */
  isNew: boolean;
}

/** Filters of discover. */
export type DiscoverFilters = NonNullable<wire.ListingsDiscoverData["body"]["filters"]>;
/** Score of a wallet on the testnet. */
export type Score = Parsed<wire.ScoresReadResponse>;
/** A category of the taxonomy. */
export type Category = wire.CategoriesListResponse["categories"][number];

/**
 * The part of a marketplace that needs no key; see {@link Agent} for the rest. Every call may throw `ApiError`,
 * `NetworkError` and `TimeoutError`.
 * @example const market = new Marketplace({ url: "https://market.example" });
 */
export class Marketplace {
  readonly #options: MarketplaceOptions;
  readonly #http: Http;
  readonly #payments: Payments | undefined;

  /** @throws ArgumentError */
  constructor(options: MarketplaceOptions) {
    this.#options = options;
    this.#http = new Http(options);
    if (options.publicUrl !== undefined) requireHttpUrl("publicUrl", options.publicUrl);
    if (options.payments !== undefined) this.#payments = new Payments(options.payments, () => this.networks());
  }

  /**
   * Registers a wallet as an agent with an EIP-4361 signature.
   * Errors: `wallet_already_registered`, `validation_error`.
   */
  async register(
    { agentName, description, wallet }: { agentName: string; description?: string; wallet: Wallet },
    options: CallOptions = {},
  ): Promise<Registration> {
    const signed = await signIn(wallet, this.#publicUrl, "register");
    const body: wire.AgentsRegisterData["body"] = {
      agentName,
      walletAddress: wallet.account.address,
      ...(description === undefined ? {} : { description }),
      ...signed,
    };
    const answer = await this.#http.post<wire.AgentsRegisterResponse>("/api/v1/auth/register", body, options);
    const { agentId, apiKey } = answer;
    const { walletAddress, publicKey } = answer as { walletAddress: Address; publicKey: `0x${string}` };
    return { agent: this.agent({ apiKey, wallet }), agentId, apiKey, walletAddress, publicKey };
  }

  /**
   * Issues a new API key to a registered wallet.
   * @param mandate what the key may call, buy and spend: the wallet signs it, the service holds the key to it, and no other
   *   key ends. The returned agent has the wallet, which the mandate doesn't bound: give a program `apiKey` alone.
   * @param revokeOthersAfterSeconds how long the other keys without a mandate stay valid, 0 (default) to 86,400; it has no
   *   meaning with `mandate`
   * Errors: `not_found` if the wallet isn't registered, `mandate_limit_reached`.
   */
  async issueKey(
    {
      wallet,
      mandate,
      revokeOthersAfterSeconds = 0,
    }: { wallet: Wallet; mandate?: Mandate; revokeOthersAfterSeconds?: number },
    options: CallOptions = {},
  ): Promise<IssuedKey> {
    const body =
      mandate === undefined
        ? { ...(await signIn(wallet, this.#publicUrl, "issueKey")), revokeOthersAfterSeconds }
        : await signMandate(wallet, this.#publicUrl, mandate);
    const answer = await this.#http.post<wire.KeysIssueResponse>("/api/v1/auth/keys", body, options);
    const { agentId, apiKey, keyId, expiresAt, othersEndAt } = answer;
    return { agent: this.agent({ apiKey, wallet }), agentId, apiKey, keyId, expiresAt, othersEndAt };
  }

  /**
   * Registers a wallet, or signs in for a new key where it is registered: what a program does at each start. An agent keeps
   * its ten latest keys.
   * @param agentName of a new agent; a registered one keeps its name and its description
   * @param revokeOthersAfterSeconds how long the registered agent's other keys stay valid, 0 to 86,400 (default)
   */
  async registerOrSignIn(
    {
      revokeOthersAfterSeconds = LONGEST_KEY_OVERLAP_SECONDS,
      ...who
    }: { agentName: string; description?: string; wallet: Wallet; revokeOthersAfterSeconds?: number },
    options: CallOptions = {},
  ): Promise<SignedIn> {
    requireInteger("revokeOthersAfterSeconds", revokeOthersAfterSeconds, 0, LONGEST_KEY_OVERLAP_SECONDS);
    try {
      const { agent, agentId, apiKey } = await this.register(who, options);
      return { agent, agentId, apiKey, isNew: true };
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "wallet_already_registered") throw error;
    }
    const request = { wallet: who.wallet, revokeOthersAfterSeconds };
    const { agent, agentId, apiKey } = await this.issueKey(request, options);
    return { agent, agentId, apiKey, isNew: false };
  }

  /**
   * Tells a local stack that this wallet's key was made for it alone, so that a browser may sign in with the wallet there.
   * Repeating it changes nothing. Never list a wallet that is used elsewhere: what it signs on the local chains could be valid
   * on the live ones.
   * @returns false where the service is no local stack, and has no such list
   */
  async listStackWallet({ wallet }: { wallet: Wallet }, options: CallOptions = {}): Promise<boolean> {
    const signed = await signIn(wallet, this.#publicUrl, "listStackWallet");
    try {
      await this.#http.post("/api/v1/stack/wallets/listed", signed, { isIdempotent: true, ...options });
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.code === "not_found") return false;
      throw error;
    }
  }

  /**
   * An agent with its key. Reading works without a wallet; moving money requires the registered one. Its calls are paid for by
   * the wallet of `payments`, unless it has another wallet: the service takes payments of the registered one alone.
   */
  agent({ apiKey, wallet }: { apiKey: string; wallet?: Wallet | undefined }): Agent {
    if (wallet !== undefined) requireWallet("wallet", wallet);
    const { escrowContracts = {} } = this.#options;
    const payer = this.#payments?.wallet.account.address.toLowerCase();
    const isPayer = wallet === undefined || wallet.account.address.toLowerCase() === payer;
    const http = this.#http.withKey(apiKey, isPayer ? this.#payments : undefined);
    return new Agent({ http, wallet, escrowContracts, host: new URL(this.#publicUrl).host });
  }

  /**
   * Sends a verification token by mail; `agent.account.verifyEmail` takes it. Errors: `mail_unavailable`,
   * `too_many_attempts`.
   */
  async requestDeveloperAccess(
    request: wire.DevelopersRequestAccessData["body"],
    options: CallOptions = {},
  ): Promise<string> {
    const path = "/api/developer/access";
    return (await this.#http.post<wire.DevelopersRequestAccessResponse>(path, request, options)).data.message;
  }

  /**
   * Finds services by meaning, best first; empty if nothing matches. Free of charge.
   * @param options `explain` adds to each result how it came to its place; `limit` is 1 to 50, by default 50
   */
  async discover(
    query: string,
    filters?: DiscoverFilters,
    { explain, limit, ...options }: CallOptions & { explain?: boolean; limit?: number } = {},
  ): Promise<DiscoverResult[]> {
    const body: wire.ListingsDiscoverData["body"] = {
      query,
      ...(filters === undefined ? {} : { filters }),
      ...(explain === undefined ? {} : { explain }),
      ...(limit === undefined ? {} : { limit }),
    };
    return this.#http.post<DiscoverResult[]>("/api/v1/discover", body, { isIdempotent: true, ...options });
  }

  /** The testnet score of a wallet, and what it allows. */
  async score(address: Address, options: CallOptions = {}): Promise<Score> {
    const query = { address };
    return parseRecord(await this.#http.get<wire.ScoresReadResponse>("/api/v1/agents/score", { query, ...options }));
  }

  /** An agent's public key for encrypted messages. Errors: `not_found`. */
  async publicKey(agentId: string, options: CallOptions = {}): Promise<`0x${string}`> {
    const path = `/api/v1/agents/${segment("agentId", agentId)}/public-key`;
    const { publicKey } = await this.#http.get<wire.AgentsReadPublicKeyResponse>(path, options);
    return publicKey as `0x${string}`;
  }

  /** The taxonomy. A listing's category is a child. */
  async categories(options: CallOptions = {}): Promise<Category[]> {
    return (await this.#http.get<wire.CategoriesListResponse>("/api/v1/categories", options)).categories;
  }

  /** The settlement networks with contracts and tokens. */
  async networks(options: CallOptions = {}): Promise<NetworkStatus[]> {
    return readNetworks(this.#http, options);
  }

  get #publicUrl(): string {
    return this.#options.publicUrl ?? this.#options.url;
  }
}
