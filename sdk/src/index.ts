// The package's exports. Inside the package every file imports from the one that defines the name.
export type { Account, FeeTier, KyaStatus, LinkedIdentity, Usage } from "./account.ts";
export { Agent } from "./agent.ts";
export { AGREEMENT_TYPES } from "./agreement-data.ts";
export type { AgentFilter, AgentRecord, AgentRegistry, AgentTrust, DiscoveryScore } from "./agent-registry.ts";
export type { CheckoutRequest, JobFilter, TransactionFilter } from "./agent.ts";
export type { Approval, Approvals } from "./approvals.ts";
export type { Analytics, HourlySeries, MarketFilter, MarketReport, SeriesAnalysis, SeriesFilter } from "./analytics.ts";
export { ESCROW_STATES } from "./calls.ts";
export type { Escrow, EscrowMove, EscrowState } from "./calls.ts";
export { canonicalJson, deliveryProofOf } from "./canonical-json.ts";
export { Deal } from "./deal.ts";
export type {
  CheckReport,
  ClaimAbandonedCall,
  DirectFundOptions,
  FinalizeCall,
  FundOptions,
  TimelineEntry,
  TimelineFilter,
} from "./deal.ts";
export type { DealTerms } from "./deal-terms.ts";
export { Dispute } from "./dispute.ts";
export type { Complaint, DisputeRecord, Evidence, Ruling, SettlementTerms } from "./dispute.ts";
export { decrypt, DecryptionError, ENCRYPTION_ALGORITHM, encryptFor, memoryReplayStore } from "./encryption.ts";
export type {
  DecryptionFault,
  DecryptOptions,
  EncryptedContent,
  MessageBinding,
  PlainMessage,
  ReplayStore,
  SealedMessage,
} from "./encryption.ts";
export {
  ApiError,
  ApprovalRequiredError,
  ArgumentError,
  ContractRevertedError,
  DealEndedError,
  isTransient,
  MarketplaceError,
  NetworkError,
  RefusedError,
  TimeoutError,
  TransactionRevertedError,
} from "./errors.ts";
export { EscrowContract } from "./escrow.ts";
export type { NewSellerTerms, SellerTerms, WithdrawOptions } from "./escrow.ts";
export type { AgentEvents, EventFilter, EventStreamOptions } from "./events.ts";
export { MIN_GASLESS_DISPUTE_WINDOW } from "./gasless-safety.ts";
export type { FundingWarning, OnFundingWarning } from "./gasless-safety.ts";
export { authorizationNonce, relayCall, signFunding } from "./gasless.ts";
export { escrowAbi, resolverAbi } from "./generated/abis.ts";
export type { ApiRequest, ApiResponse, CallOptions, CreateOptions, HttpOptions } from "./http.ts";
export type { ListingChanges, ListingFilter, Listings, NewListing } from "./listings.ts";
export { Marketplace } from "./marketplace.ts";
export type {
  Category,
  DiscoverFilters,
  IssuedKey,
  MarketplaceOptions,
  Registration,
  Score,
  SignedIn,
} from "./marketplace.ts";
export type {
  Memory,
  MemoryChangeOptions,
  MemoryEntry,
  MemoryFilter,
  MemoryImport,
  MemoryMatch,
  MemoryOptions,
  MemorySearchFilter,
  MemoryVersion,
  MemoryWriteOptions,
  NewMemoryEntry,
} from "./memory.ts";
export type {
  InboxFilter,
  Message,
  Messages,
  NewMessage,
  NewSecret,
  RegisteredWebhook,
  SecretOptions,
  TopicSubscription,
  UcpMessage,
} from "./messages.ts";
export type { Appeal, Moderation, ModerationDecision, NewReport, Report } from "./moderation.ts";
export type { NetworkStatus } from "./networks.ts";
export type { Key, Keys } from "./keys.ts";
export type { Mandate } from "./mandate.ts";
export type { Pack, Packs } from "./packs.ts";
export { collect } from "./pagination.ts";
export { PAYMENT_METHOD_TYPES, signPaymentMethod } from "./payment-method.ts";
export type { PaymentMethod, SignedPaymentMethod } from "./payment-method.ts";
export type { PaymentOptions } from "./payments.ts";
export type {
  Action,
  DiscoverResult,
  FoundListing,
  WrittenListing,
  Job,
  Listing,
  LoggedEvent,
  Network,
  SearchExplanation,
  Visibility,
  Transaction,
  TransactionStatus,
  TransactionWithActions,
  WebhookDelivery,
} from "./records.ts";
export type { RetryOptions } from "./retry.ts";
export { signIn } from "./sign-in.ts";
export type { SignedMessage, SignInPurpose } from "./sign-in.ts";
export type { EscrowTerms, FundingAuthorization } from "./terms.ts";
export type { VerbOptions, WaitOptions } from "./waiting.ts";
export { sendCall } from "./wallet.ts";
export type { PreparedCall, ReceiptOptions, Wallet } from "./wallet.ts";
export type {
  NewWebhook,
  WebhookDeliveryFilter,
  WebhookPatch,
  WebhookSecret,
  WebhookSettings,
} from "./webhook-settings.ts";
export {
  EVENT_ID_HEADER,
  SIGNATURE_HEADER,
  SIGNATURE_TOLERANCE_SECONDS,
  verifyWebhook,
  WebhookVerificationError,
} from "./webhooks.ts";
export type { IncomingWebhook, VerificationOptions, WebhookEvent, WebhookFault } from "./webhooks.ts";
