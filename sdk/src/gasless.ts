import { domainSeparator, encodeAbiParameters, encodeFunctionData, keccak256, parseAbi, stringToHex } from "viem";
import type { Address, Hex, TypedDataDomain } from "viem";
import { readContract } from "viem/actions";

import { RefusedError } from "./errors.ts";
import {
  requireGaslessWindow,
  requireKnownResolvers,
  requireShortValidity,
  warnWithoutEther,
} from "./gasless-safety.ts";
import type { OnFundingWarning } from "./gasless-safety.ts";
import { escrowAbi } from "./generated/abis.ts";
import type { EscrowTerms, FundingAuthorization } from "./terms.ts";
import type { PreparedCall, Wallet } from "./wallet.ts";

const CREATE_ESCROW_TYPE =
  "CreateEscrow(uint256 chainId,address escrowContract,bytes32 escrowId,address buyer,address seller,uint256 amount," +
  "address token,uint256 deadline,uint256 disputeWindow,uint256 abandonmentGrace,bytes32 criteriaHash)";

/** EIP-3009. */
const RECEIVE_WITH_AUTHORIZATION = {
  ReceiveWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
} as const;

const tokenAbi = parseAbi([
  "function name() view returns (string)",
  "function version() view returns (string)",
  "function DOMAIN_SEPARATOR() view returns (bytes32)",
]);

/** Nonce of the authorization: the hash of every term with chain and contract, as the escrow contract computes it. */
export function authorizationNonce(chainId: number, escrowContract: Address, terms: EscrowTerms): Hex {
  const types = ["bytes32", "uint256", "address", "bytes32", "address", "address", "uint256", "address"];
  const rest = ["uint256", "uint256", "uint256", "bytes32"];
  return keccak256(
    encodeAbiParameters(
      [...types, ...rest].map((type) => ({ type })),
      [
        keccak256(stringToHex(CREATE_ESCROW_TYPE)),
        BigInt(chainId),
        escrowContract,
        terms.escrowId,
        terms.buyer,
        terms.seller,
        terms.amount,
        terms.token,
        terms.deadline,
        terms.disputeWindow,
        terms.abandonmentGrace,
        terms.criteriaHash,
      ],
    ),
  );
}

/**
 * Signs an EIP-3009 `ReceiveWithAuthorization` for the deposit. The buyer needs neither gas nor an approval.
 * @throws RefusedError if the wallet isn't the buyer's, the dispute window is under an hour, the signature would outlast a
 * quote, a resolver transfer is pending or the resolver contract can't be read, or the token doesn't support EIP-3009 (WETH)
 */
export async function signFunding(
  wallet: Wallet,
  escrowContract: Address,
  terms: EscrowTerms,
  options: { validAfter?: bigint; validBefore: bigint; onWarning?: OnFundingWarning | undefined },
): Promise<FundingAuthorization> {
  const { validAfter = 0n, validBefore, onWarning } = options;
  const { account, chain } = wallet;
  if (account.address.toLowerCase() !== terms.buyer.toLowerCase()) {
    throw new RefusedError(`the buyer ${terms.buyer} has to sign, not ${account.address}`);
  }
  requireGaslessWindow(terms);
  await requireKnownResolvers(wallet, escrowContract);
  await requireShortValidity(wallet, validBefore);
  await warnWithoutEther(wallet, terms, onWarning);
  const signature = await wallet.signTypedData({
    account,
    domain: await tokenDomain(wallet, terms.token),
    types: RECEIVE_WITH_AUTHORIZATION,
    primaryType: "ReceiveWithAuthorization",
    message: {
      from: terms.buyer,
      to: escrowContract,
      value: terms.amount,
      validAfter,
      validBefore,
      nonce: authorizationNonce(chain.id, escrowContract, terms),
    },
  });
  return { chainId: chain.id, escrowContract, terms, validAfter, validBefore, signature };
}

/** The call for a relayer to send. The relayer can't change any term. */
export function relayCall(authorization: FundingAuthorization): PreparedCall & { chainId: number } {
  const { chainId, escrowContract, terms, validAfter, validBefore, signature } = authorization;
  const data = encodeFunctionData({
    abi: escrowAbi,
    functionName: "createEscrowWithAuthorization",
    args: [terms, validAfter, validBefore, signature],
  });
  return { chainId, to: escrowContract, data, value: 0n };
}

/** The token's EIP-712 domain, read from the chain and verified against its separator. */
async function tokenDomain(wallet: Wallet, token: Address): Promise<TypedDataDomain> {
  const read = <Name extends "name" | "version" | "DOMAIN_SEPARATOR">(functionName: Name) =>
    readContract(wallet, { address: token, abi: tokenAbi, functionName });
  const unsupported = (cause?: unknown) =>
    new RefusedError(`token ${token} can't be funded by signature: it has no EIP-3009`, { cause });
  const [name, version, separator] = await Promise.all([read("name"), read("version"), read("DOMAIN_SEPARATOR")]).catch(
    (error: unknown) => {
      throw unsupported(error);
    },
  );
  const domain = { name, version, chainId: wallet.chain.id, verifyingContract: token };
  if (domainSeparator({ domain }) !== separator) throw unsupported();
  return domain;
}
