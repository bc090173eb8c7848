import {
  ContractFunctionExecutionError,
  hashTypedData,
  isAddressEqual,
  parseAbi,
  recoverAddress,
  size,
  slice,
} from "viem";
import type { Address, Hex } from "viem";

import type { RpcCall } from "./rpc.ts";

/** An agreement that both parties of a dispute sign to end it. `deadline` in unix seconds. */
export interface Agreement {
  escrowId: Hex;
  buyerPercent: number;
  deadline: number;
}

/** Where an agreement holds. */
export interface AgreementDomain {
  chainId: number;
  resolverContract: Address;
}

/** The EIP-712 domain of the resolver contract (contracts/ResolverV2.sol). */
export function agreementDomain({ chainId, resolverContract }: AgreementDomain) {
  return { name: "AgentMarketplaceResolver", version: "2", chainId, verifyingContract: resolverContract } as const;
}

/** The EIP-712 types of an agreement. */
export const AGREEMENT_TYPES = {
  ResolutionAgreement: [
    { name: "escrowId", type: "bytes32" },
    { name: "buyerPercent", type: "uint256" },
    { name: "deadline", type: "uint256" },
  ],
} as const;

function digestOf(domain: AgreementDomain, { escrowId, buyerPercent, deadline }: Agreement): Hex {
  return hashTypedData({
    domain: agreementDomain(domain),
    types: AGREEMENT_TYPES,
    primaryType: "ResolutionAgreement",
    message: { escrowId, buyerPercent: BigInt(buyerPercent), deadline: BigInt(deadline) },
  });
}

const ERC1271_ABI = parseAbi(["function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)"]);
const ERC1271_MAGIC = "0x1626ba7e";
const ECDSA_BYTES = 65;
/** Half of secp256k1's order: the contract refuses the other, equivalent signature of each. */
const MAX_S = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/**
 * Whether the resolver contract would accept a wallet's signature of an agreement: made by its key, or by ERC-1271.
 * @throws ChainUnavailableError
 */
export async function isSignedBy(
  rpc: RpcCall,
  wallet: Address,
  signed: { domain: AgreementDomain; agreement: Agreement; signature: Hex },
): Promise<boolean> {
  const { domain, agreement, signature } = signed;
  const digest = digestOf(domain, agreement);
  if (await isKeySignature(wallet, digest, signature)) return true;
  try {
    const answer = await rpc((client) =>
      client.readContract({
        address: wallet,
        abi: ERC1271_ABI,
        functionName: "isValidSignature",
        args: [digest, signature],
      }),
    );
    return answer === ERC1271_MAGIC;
  } catch (error) {
    // A wallet without code, or one that refuses the signature.
    if (error instanceof ContractFunctionExecutionError) return false;
    throw error;
  }
}

async function isKeySignature(wallet: Address, digest: Hex, signature: Hex): Promise<boolean> {
  if (size(signature) !== ECDSA_BYTES) return false;
  const [s, v] = [BigInt(slice(signature, 32, 64)), Number(slice(signature, 64))];
  if (s > MAX_S || (v !== 27 && v !== 28)) return false;
  try {
    return isAddressEqual(await recoverAddress({ hash: digest, signature }), wallet);
  } catch {
    return false;
  }
}
