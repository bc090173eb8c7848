import { requireObject, segment } from "./arguments.ts";
import { RefusedError } from "./errors.ts";
import type * as wire from "./generated/api-types.ts";
import type { CallOptions, Http } from "./http.ts";
import { readNetworks } from "./networks.ts";
import { paginate } from "./pagination.ts";
import type { Page } from "./pagination.ts";
import { signPaymentMethod } from "./payment-method.ts";
import type { Wallet } from "./wallet.ts";

/** Daily budgets and what is used of them, and prepaid calls. */
export type Usage = wire.UsageReadResponse["data"];
/** The fee tier by settled volume of the last 30 days. */
export type FeeTier = wire.FeesReadTierResponse["data"];
/** A rebate for a month in one token. */
export type RebateStatement = wire.RebateStatement;
/** A settlement that a rebate statement counts. */
export type RebateSettlement = wire.RebateSettlement;
/** An identity in a registry of ERC-8004. */
export type LinkedIdentity = wire.LinkedIdentity;
/** The level of a verified agent, and what it may buy. */
export type KyaStatus = wire.KyaStatus;

/** The agent's own budgets, fees and verification. */
export class Account {
  readonly #http: Http;
  readonly #wallet: Wallet | undefined;

  constructor(http: Http, wallet: Wallet | undefined) {
    this.#http = http;
    this.#wallet = wallet;
  }

  /** Today's budgets. Free of charge. */
  async usage(options: CallOptions = {}): Promise<Usage> {
    return (await this.#http.get<wire.UsageReadResponse>("/api/v1/auth/usage", options)).data;
  }

  /** The tier, its rate, and the rebate of this month. */
  async feeTier(options: CallOptions = {}): Promise<FeeTier> {
    return (await this.#http.get<wire.FeesReadTierResponse>("/api/v1/agents/fee-tier", options)).data;
  }

  /** The rebate statements, newest first. */
  rebates(options: CallOptions = {}): AsyncGenerator<RebateStatement, void, undefined> {
    const path = "/api/v1/agents/rebates";
    return paginate((cursor) => this.#http.get<Page<RebateStatement>>(path, { query: { cursor }, ...options }));
  }

  /** The settlements that a statement counts, oldest first. Errors: `not_found`. */
  rebateSettlements(statementId: string, options: CallOptions = {}): AsyncGenerator<RebateSettlement, void, undefined> {
    const path = `/api/v1/agents/rebates/${segment("statementId", statementId)}/settlements`;
    return paginate((cursor) => this.#http.get<Page<RebateSettlement>>(path, { query: { cursor }, ...options }));
  }

  /** Verifies the mail address with the token that `Marketplace.requestDeveloperAccess` sent: KYA level 1. */
  async verifyEmail(token: string, options: CallOptions = {}): Promise<KyaStatus> {
    const path = "/api/developer/verify";
    return (await this.#http.post<wire.DevelopersVerifyResponse>(path, { token }, options)).data.kya;
  }

  /**
   * Links an identity of ERC-8004 that the registry pays to the agent's wallet. It makes the agent's name, description and wallet
   * public, in the file that the answer names. A repeat changes nothing.
   * Errors: `not_found`, `identity_wallet_mismatch`, `chain_unavailable`.
   */
  async linkIdentity(
    identity: wire.AgentsLinkIdentityData["body"],
    options: CallOptions = {},
  ): Promise<LinkedIdentity> {
    requireObject("identity", identity);
    const request = { isIdempotent: true, ...options };
    return (await this.#http.post<wire.AgentsLinkIdentityResponse>("/api/v1/agents/erc8004", identity, request)).data;
  }

  /**
   * Links a token of the wallet's chain as payment method, by a signature that moves nothing: KYA level 2.
   * @param symbol of an escrow token that the wallet holds or has allowed
   * Errors: `payment_method_empty`, `RefusedError` without a wallet or for an unknown token.
   */
  async linkPaymentMethod(symbol = "USDC", options: CallOptions = {}): Promise<KyaStatus> {
    const wallet = this.#wallet;
    if (wallet === undefined) throw new RefusedError("this agent has no wallet: pass one to Marketplace.agent");
    const [networks, { agentId }] = await Promise.all([readNetworks(this.#http, options), this.usage(options)]);
    const network = networks.find(({ chainId }) => chainId === wallet.chain.id);
    if (network === undefined) throw new RefusedError(`no deals settle on the wallet's chain ${wallet.chain.id}`);
    const token = network.tokens.find((candidate) => candidate.symbol === symbol);
    if (token === undefined) throw new RefusedError(`${network.network} has no escrow token ${symbol}`);
    const method = {
      agentId,
      network: network.network,
      token: token.address,
      escrowContract: network.contracts.escrow,
    };
    const body = await signPaymentMethod(wallet, method);
    const path = "/api/v1/agents/kya/payment-method";
    return (await this.#http.post<wire.KyaLinkPaymentMethodResponse>(path, body, options)).data.kya;
  }
}
