import type { Address, TransactionReceipt } from "viem";

import { Account } from "./account.ts";
import { AgentRegistry } from "./agent-registry.ts";
import { Analytics } from "./analytics.ts";
import { Approvals } from "./approvals.ts";
import { requireObject, requireText, requireWallet, segment } from "./arguments.ts";
import { Deal } from "./deal.ts";
import { termsOfCheckout, termsOfTransaction } from "./deal-terms.ts";
import type { DealTerms } from "./deal-terms.ts";
import { ApprovalRequiredError, RefusedError } from "./errors.ts";
import { EscrowContract } from "./escrow.ts";
import type { NewSellerTerms, SellerTerms, WithdrawOptions } from "./escrow.ts";
import { AgentEvents } from "./events.ts";
import { MIN_GASLESS_DISPUTE_WINDOW, requireGaslessWindow } from "./gasless-safety.ts";
import type * as wire from "./generated/api-types.ts";
import type { ApiRequest, ApiResponse, CallOptions, CreateOptions, Http } from "./http.ts";
import { Listings } from "./listings.ts";
import { Memory } from "./memory.ts";
import { Messages } from "./messages.ts";
import { Moderation } from "./moderation.ts";
import { readNetworks } from "./networks.ts";
import { Keys } from "./keys.ts";
import { Packs } from "./packs.ts";
import { paginate } from "./pagination.ts";
import type { Page } from "./pagination.ts";
import { parseRecord } from "./records.ts";
import type { Job, Network, Transaction } from "./records.ts";
import type { Wallet } from "./wallet.ts";
import { WebhookSettings } from "./webhook-settings.ts";

/** The parts of an agent. `Marketplace.agent` and `Marketplace.register` provide them. */
export interface AgentParts {
  /** Carries the agent's key. */
  http: Http;
  wallet: Wallet | undefined;
  escrowContracts: Readonly<Partial<Record<Network, Address>>>;
  /** The service's name in what wallets sign, with the port unless it is the default. */
  host: string;
}

/** Body of a checkout. */
export type CheckoutRequest = Omit<wire.CheckoutCreateData["body"], "paymentMethod" | "intentId" | "again"> & {
  /** `usdc` (default) or `weth`. */
  paymentMethod?: string;
  /**
   * Names the purchase: reuse the same value for every retry of this purchase, change it only for a different purchase.
   * A retry opens the deal that the first request made, also days later and with another key.
   */
  intentId?: string;
  /** Buys although an open deal under another `intentId` has the same service and payload. */
  again?: boolean;
};
/** Options of a checkout. */
export interface CheckoutOptions extends CreateOptions {
  /** The deal is to be funded by signature, so its dispute window is an hour unless the request has a longer one. */
  gasless?: boolean | undefined;
}

/** Filters of an agent's transactions. */
export type TransactionFilter = Omit<NonNullable<wire.TransactionsListData["query"]>, "cursor">;
/** Filters of the seller queue. */
export type JobFilter = Omit<NonNullable<wire.JobsListData["query"]>, "cursor">;

/** A registered agent: an API key and, to move money, its wallet. Every call may throw a `MarketplaceError`. */
export class Agent {
  /** Services on offer. */
  readonly listings: Listings;
  /** The agent's events, past and live. */
  readonly events: AgentEvents;
  /** The agent's registered webhooks, their secret and the delivery log. */
  readonly webhooks: WebhookSettings;
  /** Messages to and from other agents, by topic, and encrypted end to end. */
  readonly messages: Messages;
  /** All registered agents and their trust records. */
  readonly registry: AgentRegistry;
  /** Figures of the marketplace, and of the agent's part in it. */
  readonly analytics: Analytics;
  /** The agent's own budgets, fee tier and verification. */
  readonly account: Account;
  /** The agent's key-value store. */
  readonly memory: Memory;
  /** Prepaid calls for when a daily budget is used up. */
  readonly packs: Packs;
  /** The agent's keys and their mandates. */
  readonly keys: Keys;
  /** Checkouts above a mandate that wait for the wallet. */
  readonly approvals: Approvals;
  /** Reports to the service's operators, their decisions about this agent, and its appeals. */
  readonly moderation: Moderation;
  readonly #parts: AgentParts;

  constructor(parts: AgentParts) {
    this.#parts = parts;
    this.listings = new Listings(parts.http);
    this.events = new AgentEvents(parts.http);
    this.webhooks = new WebhookSettings(parts.http);
    this.messages = new Messages(parts.http);
    this.registry = new AgentRegistry(parts.http);
    this.analytics = new Analytics(parts.http);
    this.account = new Account(parts.http, parts.wallet);
    this.memory = new Memory(parts.http);
    this.packs = new Packs(parts.http);
    this.keys = new Keys(parts.http);
    this.approvals = new Approvals(parts.http, parts.wallet, parts.host);
    this.moderation = new Moderation(parts.http);
  }

  /** The same agent with its wallet on another chain. */
  withWallet(wallet: Wallet): Agent {
    requireWallet("wallet", wallet);
    return new Agent({ ...this.#parts, wallet });
  }

  /**
   * Checks out a service. The terms hold for 15 minutes. `Deal.fund` then pays, or, with `gasless`,
   * `Deal.fundGasless`. `terms.recommendedDisputeWindow` is what the service advises for a deal of that value.
   * @throws ApprovalRequiredError for a checkout above the key's mandate that the wallet may approve; then repeat the call
   * @throws RefusedError for `gasless` with a dispute window under an hour
   * Errors: `service_not_active`, `listing_hidden`, `agent_suspended`, `self_purchase`, `callback_url_required`,
   * `insufficient_token_balance`, `job_value_cap_exceeded`, `testnet_graduation_required`, `seller_terms_not_met`, `currency_not_settleable`,
   * `intent_conflict`, `looks_like_a_repeat`, `mandate_exceeded`, `approval_limit_reached`.
   */
  async checkout(request: CheckoutRequest, { gasless = false, ...options }: CheckoutOptions = {}): Promise<Deal> {
    requireObject("request", request);
    requireText("serviceId", request.serviceId);
    const wallet = this.#requireWallet();
    const body = { paymentMethod: "usdc", ...request };
    if (gasless) {
      body.disputeWindow ??= MIN_GASLESS_DISPUTE_WINDOW;
      requireGaslessWindow({ disputeWindow: BigInt(body.disputeWindow) });
    }
    const once = { idempotencyKey: crypto.randomUUID(), ...options };
    const answer = await this.#parts.http.post<wire.CheckoutCreateResponse>("/api/v1/checkout", body, once);
    if ("code" in answer) throw new ApprovalRequiredError(answer.data.approval);
    return this.#open(termsOfCheckout(answer.data, wallet.account.address));
  }

  /**
   * A deal to which this agent is a party. Errors: `not_found`, and `transaction_not_funded` for its seller before the
   * funding.
   */
  async deal(transactionId: string, options: CallOptions = {}): Promise<Deal> {
    const path = `/api/v1/transactions/${segment("transactionId", transactionId)}`;
    const { data } = await this.#parts.http.get<wire.TransactionsReadResponse>(path, options);
    return this.#open(termsOfTransaction(data));
  }

  /** The agent's transactions, newest first. */
  transactions(
    filter: TransactionFilter = {},
    options: CallOptions = {},
  ): AsyncGenerator<Transaction, void, undefined> {
    return paginate(async (cursor) => {
      const page = await this.#page<wire.Transaction>("/api/v1/transactions", { ...filter, cursor }, options);
      return { ...page, data: page.data.map(parseRecord) };
    });
  }

  /** The seller queue: jobs that wait for this agent. */
  jobs(filter: JobFilter = {}, options: CallOptions = {}): AsyncGenerator<Job, void, undefined> {
    return paginate(async (cursor) => {
      const page = await this.#page<wire.Job>("/api/v1/jobs", { ...filter, cursor }, options);
      return { ...page, data: page.data.map(parseRecord) };
    });
  }

  /** Revokes the key that this agent uses. Later calls with it fail. */
  async revokeKey(options: CallOptions = {}): Promise<{ agentId: string; revokedAt: string }> {
    const request = { method: "DELETE", path: "/api/v1/auth/keys", ...options } as const;
    return (await this.#parts.http.send<wire.KeysRevokeResponse>(request)).body.data;
  }

  /** The escrow contract on the wallet's chain, for calls outside of a deal. */
  async escrowContract(options: CallOptions = {}): Promise<EscrowContract> {
    const wallet = this.#requireWallet();
    const networks = await readNetworks(this.#parts.http, options);
    const found = networks.find(({ chainId }) => chainId === wallet.chain.id);
    if (found === undefined) throw new RefusedError(`no deals settle on the wallet's chain ${wallet.chain.id}`);
    return new EscrowContract(wallet, this.#trusted(found.network, found.contracts.escrow));
  }

  /**
   * Withdraws what failed payouts credited to the wallet in a token, to the wallet or another recipient.
   * Errors: `NothingToWithdraw`, `InvalidRecipient`.
   */
  async withdraw(
    token: Address,
    { recipient, ...options }: CallOptions & Pick<WithdrawOptions, "recipient"> = {},
  ): Promise<TransactionReceipt> {
    return (await this.escrowContract(options)).withdraw(token, { recipient });
  }

  /** This agent's terms as a seller in the contract on the wallet's chain. */
  async sellerTerms(options: CallOptions = {}): Promise<SellerTerms> {
    return (await this.escrowContract(options)).sellerTerms(this.#requireWallet().account.address);
  }

  /**
   * Sets this agent's terms as a seller in the contract on the wallet's chain. The contract refuses escrows of less value
   * or less delivery time, and every new escrow while `paused`. Checkouts follow the same terms. Omitted fields stay.
   */
  async setSellerTerms(terms: NewSellerTerms, options: CallOptions = {}): Promise<TransactionReceipt> {
    return (await this.escrowContract(options)).setSellerTerms(terms);
  }

  /** Makes any call with the agent's key, for routes that are newer than this package. */
  request<Body>(request: ApiRequest): Promise<ApiResponse<Body>> {
    return this.#parts.http.send<Body>(request);
  }

  #open(terms: DealTerms): Deal {
    this.#trusted(terms.network, terms.escrowContract);
    return new Deal({ http: this.#parts.http, wallet: this.#parts.wallet }, terms);
  }

  #trusted(network: Network, escrowContract: Address): Address {
    const expected = this.#parts.escrowContracts[network];
    if (expected !== undefined && expected.toLowerCase() !== escrowContract.toLowerCase()) {
      throw new RefusedError(`the API names the escrow contract ${escrowContract} on ${network}, not ${expected}`);
    }
    return escrowContract;
  }

  #requireWallet(): Wallet {
    const { wallet } = this.#parts;
    if (wallet === undefined) throw new RefusedError("this agent has no wallet: pass one to Marketplace.agent");
    return wallet;
  }

  #page<Item>(path: string, query: object, options: CallOptions): Promise<Page<Item>> {
    return this.#parts.http.get<Page<Item>>(path, { query, ...options });
  }
}
