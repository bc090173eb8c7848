/** What the follower asks other features: narrow, so that it knows neither their records nor their rules. */

/** Agents by the wallets that they registered with. */
export interface WalletDirectory {
  /** Agent ids by lower-case address, those that are registered, in one query. */
  agentIdsByWallet(wallets: readonly string[]): Promise<Map<string, string>>;
}

/** Where sellers want their webhooks. */
export interface EndpointDirectory {
  /** endpointUrl by service id, those that have one, in one query. */
  endpointUrls(serviceIds: readonly string[]): Promise<Map<string, string>>;
}
