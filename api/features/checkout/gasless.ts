import type { Address } from "viem";

import { createEscrowWithAuthorizationTemplate, receiveAuthorization } from "../../chain/authorization.ts";
import type { TokenDomain } from "../../chain/authorization.ts";
import type { ChainClient } from "../../chain/chain-client.ts";
import { callTarget } from "../transactions/actions.ts";
import type { TransactionRecord } from "../transactions/model.ts";
import { escrowTerms } from "../transactions/snapshot.ts";

/** The function that relays a signed funding, in the human-readable form that wallet libraries parse. */
const RELAY_FUNCTION =
  "function createEscrowWithAuthorization((bytes32 escrowId, address buyer, address seller, uint256 amount, " +
  "address token, uint256 deadline, uint256 disputeWindow, uint256 abandonmentGrace, bytes32 criteriaHash) terms, " +
  "uint256 validAfter, uint256 validBefore, bytes signature)";

/** The signature is valid at once and expires when the quote does. */
const VALID_AFTER = 0;

/** Why an escrow can't be funded by a signature. */
export const GASLESS_OBSTACLES = [
  /** The token has no EIP-3009. */
  "token_without_authorization",
  /** The token takes no signature of the buyer's wallet, which has code and no ERC-1271. */
  "wallet_has_code",
  /** The quote has ended, or the deal no longer awaits its funding. */
  "no_open_quote",
] as const;

/** The token's EIP-712 domain for the buyer's signature, or the reason why no signature is accepted. */
export type FundingSignature = { domain: TokenDomain } | { obstacle: (typeof GASLESS_OBSTACLES)[number] };

/** Whether a wallet can fund escrows by its signature. @throws ChainUnavailableError */
export async function readSigning(
  chain: Pick<ChainClient, "tokenDomain" | "signsForTokens">,
  token: Address,
  wallet: Address,
): Promise<FundingSignature> {
  const [domain, canSign] = await Promise.all([chain.tokenDomain(token), chain.signsForTokens(wallet)]);
  if (domain === null) return { obstacle: "token_without_authorization" };
  return canSign ? { domain } : { obstacle: "wallet_has_code" };
}

/** Both fields of a checkout about funding without gas: its data, or the reason why it isn't possible. */
export function gaslessFunding(record: TransactionRecord, signing: FundingSignature) {
  if ("obstacle" in signing) return { gasless: null, gaslessReason: signing.obstacle };
  return { gasless: relayedFunding(record, signing.domain), gaslessReason: null };
}

/**
 * The data for funding without gas: the buyer signs `typedData`, and anyone sends `relay` with the signature. The
 * signature covers every term, so a relayer can't change any. Null for an escrow without a quote.
 */
function relayedFunding(record: TransactionRecord, domain: TokenDomain) {
  if (record.quoteExpiresAt === null) return null;
  const target = callTarget(record);
  const terms = escrowTerms(record);
  const validity = { validAfter: VALID_AFTER, validBefore: record.quoteExpiresAt };
  return {
    typedData: receiveAuthorization(target, terms, domain, validity),
    relay: {
      to: target.escrowContract,
      value: "0" as const,
      chainId: target.chainId,
      functionName: "createEscrowWithAuthorization" as const,
      abi: RELAY_FUNCTION,
      args: {
        terms: {
          escrowId: terms.escrowId,
          buyer: terms.buyer,
          seller: terms.seller,
          amount: record.amount,
          token: terms.token,
          deadline: String(terms.deadline),
          disputeWindow: String(terms.disputeWindow),
          abandonmentGrace: String(terms.abandonmentGrace),
          criteriaHash: terms.criteriaHash,
        },
        validAfter: String(validity.validAfter),
        validBefore: String(validity.validBefore),
      },
      dataTemplate: createEscrowWithAuthorizationTemplate(terms, validity),
      description: "Deposit the buyer's token in escrow for the seller, authorized by the buyer's signature",
    },
  };
}
