import { createEscrowWithAuthorizationTemplate, receiveAuthorization } from "../../chain/authorization.ts";
import type { TokenDomain } from "../../chain/authorization.ts";
import { callTarget } from "../transactions/actions.ts";
import type { TransactionRecord } from "../transactions/model.ts";
import { termsOf } from "../transactions/snapshot.ts";

/** The function that relays a signed funding, in the human-readable form that wallet libraries parse. */
const RELAY_FUNCTION =
  "function createEscrowWithAuthorization((bytes32 escrowId, address buyer, address seller, uint256 amount, " +
  "address token, uint256 deadline, uint256 disputeWindow, uint256 abandonmentGrace, bytes32 criteriaHash) terms, " +
  "uint256 validAfter, uint256 validBefore, bytes signature)";

/** The signature is valid at once and expires when the quote does (decision 13). */
const VALID_AFTER = 0;

/**
 * What funding without gas needs (decision 13): the buyer signs `typedData`, and anyone sends `relay` with the
 * signature. The signature covers every term, so a relayer can't change any.
 * @param domain of the token; null if it doesn't support authorizations
 */
export function gaslessFunding(record: TransactionRecord, domain: TokenDomain | null) {
  if (domain === null || record.quoteExpiresAt === null) return null;
  const target = callTarget(record);
  const terms = termsOf(record);
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
