import type { Connection } from "mongoose";
import { recoverTypedDataAddress } from "viem";
import type { Address, Hex } from "viem";

import type { ChainClient } from "../../chain/chain-client.ts";
import { KYA_PAYMENT_METHOD_LEVEL, STATEMENT_MAX_AHEAD_SECONDS } from "../../config/constants.ts";
import type { KyaLevel, Network } from "../../config/constants.ts";
import { isDuplicateKey, withTransaction } from "../../db/connection.ts";
import type { Caller } from "../../http/define-route.ts";
import { ApiError, validationError } from "../../http/errors.ts";
import type { Operation } from "../../http/operation.ts";
import { toUnixSeconds } from "../../lib/clock.ts";
import type { Clock } from "../../lib/clock.ts";
import type { AgentModels } from "../agents/model.ts";
import type { KyaLevels } from "./levels.ts";

/** EIP-712 domain of the statement, without chain and contract. sdk/src/payment-method.ts has the same. */
export const STATEMENT_DOMAIN = { name: "Agent Marketplace", version: "1" } as const;
/** EIP-712 types of the statement. */
export const STATEMENT_TYPES = {
  PaymentMethod: [
    { name: "agentId", type: "string" },
    { name: "wallet", type: "address" },
    { name: "network", type: "string" },
    { name: "token", type: "address" },
    { name: "nonce", type: "bytes32" },
    { name: "deadline", type: "uint256" },
  ],
} as const;

/** A statement of a wallet that it pays with a token on a network. `deadline` in unix seconds. */
export interface PaymentMethodStatement {
  network: Network;
  token: Address;
  nonce: Hex;
  deadline: number;
  signature: Hex;
}

/** The chain reads of a link. */
export type PaymentMethodChain = Pick<ChainClient, "chainId" | "deployment" | "tokenBalance" | "tokenAllowance">;

/** Dependencies of payment methods. */
export interface PaymentMethodDeps {
  connection: Connection;
  chains: Readonly<Record<Network, PaymentMethodChain>>;
  levels: Pick<KyaLevels, "raise" | "leftBy">;
  nonces: AgentModels["nonces"];
  clock: Clock;
}

/** Links a caller's payment method and returns the level that the agent has then. A repeat returns what the first run left. */
export type LinkPaymentMethod = (
  caller: Caller,
  statement: PaymentMethodStatement,
  request: { requestId: string; operation: Operation },
) => Promise<KyaLevel>;

/**
 * Level 2: the agent's wallet signs an EIP-712 statement and holds, or has allowed to the escrow contract, at least the
 * smallest deposit of an escrow token. Each statement is for one agent, wallet, token and chain, expires within an hour
 * and works once.
 */
export function createLinkPaymentMethod(deps: PaymentMethodDeps): LinkPaymentMethod {
  const { connection, chains, levels, nonces, clock } = deps;

  function requireLive(deadline: number): void {
    const now = toUnixSeconds(clock.now());
    if (deadline > now && deadline <= now + STATEMENT_MAX_AHEAD_SECONDS) return;
    const message = `Must be after now (${now}) and at most ${STATEMENT_MAX_AHEAD_SECONDS} seconds ahead`;
    throw validationError([{ path: "body.deadline", message }]);
  }

  return async (caller, statement, { requestId, operation }) => {
    const { network, token, nonce, deadline } = statement;
    const { agentId, walletAddress } = caller;
    // First of all: since then the statement may have expired and the wallet may be empty.
    const left = await levels.leftBy(operation, agentId);
    if (left !== undefined) return left;
    const chain = chains[network];
    requireLive(deadline);
    const listed = chain.deployment.tokens.find(({ address }) => address === token);
    if (listed === undefined) throw new ApiError("payment_method_not_supported", { details: { network, token } });
    if ((await recoverSigner(chain, caller, statement)) !== walletAddress) throw new ApiError("signature_invalid");

    const [balance, allowance] = await Promise.all([
      chain.tokenBalance(token, walletAddress),
      chain.tokenAllowance(token, walletAddress),
    ]);
    if (balance < listed.minAmount && allowance < listed.minAmount) {
      const held = { balance: balance.toString(), allowance: allowance.toString() };
      throw new ApiError("payment_method_empty", {
        details: { token, required: listed.minAmount.toString(), ...held },
      });
    }

    const why = { cause: "payment_method", reason: `${network}:${token}`, requestId } as const;
    const used = {
      _id: `payment-method:${walletAddress.toLowerCase()}:${nonce}`,
      expiresAt: new Date(deadline * 1_000),
    };
    try {
      return await withTransaction(connection, async (session) => {
        await nonces.create([used], { session });
        return levels.raise(agentId, KYA_PAYMENT_METHOD_LEVEL, why, { operation, session });
      });
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      // A repeat of this request may have been faster.
      const made = await levels.leftBy(operation, agentId);
      if (made === undefined) throw new ApiError("nonce_already_used", { cause: error });
      return made;
    }
  };
}

/** The wallet behind a statement's signature; undefined if no key can have made it. */
async function recoverSigner(
  { chainId, deployment }: PaymentMethodChain,
  { agentId, walletAddress }: Caller,
  { network, token, nonce, deadline, signature }: PaymentMethodStatement,
): Promise<Address | undefined> {
  try {
    return await recoverTypedDataAddress({
      domain: { ...STATEMENT_DOMAIN, chainId, verifyingContract: deployment.escrow },
      types: STATEMENT_TYPES,
      primaryType: "PaymentMethod",
      message: { agentId, wallet: walletAddress, network, token, nonce, deadline: BigInt(deadline) },
      signature,
    });
  } catch {
    return undefined;
  }
}
