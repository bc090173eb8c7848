import {
  BaseError,
  ContractFunctionRevertedError,
  ContractFunctionZeroDataError,
  encodeAbiParameters,
  encodeFunctionData,
  getAbiItem,
  domainSeparator,
  keccak256,
  parseAbi,
  stringToBytes,
} from "viem";
import type { Address, Hex } from "viem";

import { escrowAbi } from "./abis.ts";
import type { CallTarget, EscrowTerms } from "./calldata.ts";
import type { RpcCall } from "./rpc.ts";

/** The parts of a token's EIP-712 domain other than chain and address. */
export interface TokenDomain {
  name: string;
  version: string;
}

/** The terms of an escrow with the wallet that pays for it. */
export interface BuyerTerms extends EscrowTerms {
  buyer: Address;
}

/** The terms as a parameter of `createEscrowWithAuthorization`. */
const TERMS = getAbiItem({ abi: escrowAbi, name: "authorizationNonce" }).inputs[0];

/** `AUTHORIZATION_TYPEHASH` in contracts/escrow/EscrowCreation.sol. */
const AUTHORIZATION_TYPEHASH = keccak256(
  stringToBytes(
    "CreateEscrow(uint256 chainId,address escrowContract,bytes32 escrowId,address buyer,address seller,uint256 amount," +
      "address token,uint256 deadline,uint256 disputeWindow,uint256 abandonmentGrace,bytes32 criteriaHash)",
  ),
);

/** The getters of an EIP-3009 token such as USDC. */
const authorizingTokenAbi = parseAbi([
  "function name() view returns (string)",
  "function version() view returns (string)",
  "function DOMAIN_SEPARATOR() view returns (bytes32)",
  "function RECEIVE_WITH_AUTHORIZATION_TYPEHASH() view returns (bytes32)",
]);

const RECEIVE_TYPEHASH = keccak256(
  stringToBytes(
    "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)",
  ),
);

/**
 * Reads the EIP-712 domain of a token that supports EIP-3009 authorizations. Returns null for a token that doesn't, and
 * for one whose domain isn't made of name, version, chain and address, because a signature over those would be invalid.
 */
export async function readTokenDomain(rpc: RpcCall, token: Address, chainId: number): Promise<TokenDomain | null> {
  const read = <Name extends (typeof authorizingTokenAbi)[number]["name"]>(functionName: Name) =>
    rpc((client) => client.readContract({ address: token, abi: authorizingTokenAbi, functionName }));
  try {
    const [name, version, separator, typehash] = await Promise.all([
      read("name"),
      read("version"),
      read("DOMAIN_SEPARATOR"),
      read("RECEIVE_WITH_AUTHORIZATION_TYPEHASH"),
    ]);
    const expected = domainSeparator({ domain: { name, version, chainId, verifyingContract: token } });
    return separator === expected && typehash === RECEIVE_TYPEHASH ? { name, version } : null;
  } catch (error) {
    if (isUnknownFunction(error)) return null;
    throw error;
  }
}

/** A token without the function reverts, or its fallback returns nothing. */
function isUnknownFunction(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false;
  const found = error.walk(
    (cause) => cause instanceof ContractFunctionRevertedError || cause instanceof ContractFunctionZeroDataError,
  );
  return found !== null;
}

const asStruct = (terms: BuyerTerms) => ({
  escrowId: terms.escrowId,
  buyer: terms.buyer,
  seller: terms.seller,
  amount: terms.amount,
  token: terms.token,
  deadline: BigInt(terms.deadline),
  disputeWindow: BigInt(terms.disputeWindow),
  abandonmentGrace: BigInt(terms.abandonmentGrace),
  criteriaHash: terms.criteriaHash,
});

/** The nonce that binds an authorization to all terms of one escrow, as the contract computes it. */
export function authorizationNonce(target: CallTarget, terms: BuyerTerms): Hex {
  return keccak256(
    encodeAbiParameters(
      [{ type: "bytes32" }, { type: "uint256" }, { type: "address" }, TERMS],
      [AUTHORIZATION_TYPEHASH, BigInt(target.chainId), target.escrowContract, asStruct(terms)],
    ),
  );
}

/** When an authorization is valid: strictly between two times in unix seconds. */
export interface Validity {
  validAfter: number;
  validBefore: number;
}

/** The EIP-3009 typed data (`eth_signTypedData_v4`) that a buyer's wallet signs to fund an escrow without gas. */
export function receiveAuthorization(target: CallTarget, terms: BuyerTerms, domain: TokenDomain, validity: Validity) {
  return {
    domain: { ...domain, chainId: target.chainId, verifyingContract: terms.token },
    types: {
      EIP712Domain: [
        { name: "name", type: "string" },
        { name: "version", type: "string" },
        { name: "chainId", type: "uint256" },
        { name: "verifyingContract", type: "address" },
      ],
      ReceiveWithAuthorization: [
        { name: "from", type: "address" },
        { name: "to", type: "address" },
        { name: "value", type: "uint256" },
        { name: "validAfter", type: "uint256" },
        { name: "validBefore", type: "uint256" },
        { name: "nonce", type: "bytes32" },
      ],
    },
    primaryType: "ReceiveWithAuthorization" as const,
    message: {
      from: terms.buyer,
      to: target.escrowContract,
      value: terms.amount.toString(),
      validAfter: String(validity.validAfter),
      validBefore: String(validity.validBefore),
      nonce: authorizationNonce(target, terms),
    },
  };
}

/** Calldata of `createEscrowWithAuthorization` with a signature. */
export function createEscrowWithAuthorizationData(terms: BuyerTerms, validity: Validity, signature: Hex): Hex {
  return encodeFunctionData({
    abi: escrowAbi,
    functionName: "createEscrowWithAuthorization",
    args: [asStruct(terms), BigInt(validity.validAfter), BigInt(validity.validBefore), signature],
  });
}

const ECDSA_SIGNATURE_BYTES = 65;
const WORD_BYTES = 32;
const HEX_DIGITS_A_BYTE = 2;

/** The same calldata with `{signature}` where the 130 hexadecimal digits of an ECDSA signature belong. */
export function createEscrowWithAuthorizationTemplate(terms: BuyerTerms, validity: Validity): string {
  const blank: Hex = `0x${"00".repeat(ECDSA_SIGNATURE_BYTES)}`;
  const data = createEscrowWithAuthorizationData(terms, validity, blank);
  const words = Math.ceil(ECDSA_SIGNATURE_BYTES / WORD_BYTES);
  const start = data.length - words * WORD_BYTES * HEX_DIGITS_A_BYTE;
  return `${data.slice(0, start)}{signature}${data.slice(start + ECDSA_SIGNATURE_BYTES * HEX_DIGITS_A_BYTE)}`;
}
