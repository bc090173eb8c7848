import { BaseError, ContractFunctionRevertedError, maxUint256 } from "viem";
import type { Address } from "viem";

import { escrowAbi, scoreAbi } from "./abis.ts";
import type { Deployment } from "./deployment.ts";
import { PriceUnavailableError, TokenNotListedError } from "./errors.ts";
import type { RpcCall } from "./rpc.ts";

/** A deposit that a buyer means to make. `amount` in token units. */
export interface DepositTerms {
  buyer: Address;
  seller: Address;
  token: Address;
  amount: bigint;
}

/** Limits for a new escrow between two wallets, read at one block. USD values have 6 decimals. */
export interface EscrowLimits {
  /** True while the contract accepts no new escrows. */
  paused: boolean;
  /** Minimum deposit in token units. */
  minAmount: bigint;
  /** USD value of the deposit, at the price of the token's feed. */
  valueUsd: bigint;
  /** The lower of both parties' caps; null for unlimited. */
  capUsd: bigint | null;
  /** The party whose cap it is. */
  cappedAgent: Address;
  sellerTerms: { minAmountUsd: bigint; minDeliverySeconds: number; paused: boolean };
}

/** Translates the contract's errors about valuing a deposit; returns other errors unchanged. */
function valuationRefusal(token: Address, error: unknown): unknown {
  if (!(error instanceof BaseError)) return error;
  const revert = error.walk((cause) => cause instanceof ContractFunctionRevertedError);
  if (!(revert instanceof ContractFunctionRevertedError)) return error;
  switch (revert.data?.errorName) {
    case "InvalidPrice":
      return new PriceUnavailableError(`No price for ${token}`, { cause: error });
    case "TokenNotListed":
      return new TokenNotListedError(`${token} is not listed`, { cause: error });
    default:
      return error;
  }
}

/** Reads what `createEscrow` would check for this deposit, in one round trip. */
export async function readEscrowLimits(
  rpc: RpcCall,
  deployment: Deployment,
  { buyer, seller, token, amount }: DepositTerms,
): Promise<EscrowLimits> {
  const escrow = { address: deployment.escrow, abi: escrowAbi } as const;
  const score = { address: deployment.score, abi: scoreAbi } as const;
  const [paused, { minAmount }, valueUsd, [capUsd, cappedAgent], sellerTerms] = await Promise.all([
    rpc((client) => client.readContract({ ...escrow, functionName: "paused" })),
    rpc((client) => client.readContract({ ...escrow, functionName: "tokenConfig", args: [token] })),
    rpc((client) => client.readContract({ ...escrow, functionName: "usdValue", args: [token, amount] })).catch(
      (error: unknown) => {
        throw valuationRefusal(token, error);
      },
    ),
    rpc((client) => client.readContract({ ...score, functionName: "jobValueCap", args: [buyer, seller] })),
    rpc((client) => client.readContract({ ...escrow, functionName: "sellerTerms", args: [seller] })),
  ]);
  const cap = capUsd === maxUint256 ? null : capUsd;
  return { paused, minAmount, valueUsd, capUsd: cap, cappedAgent, sellerTerms };
}
