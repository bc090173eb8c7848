import { zeroAddress } from "viem";
import type { Address } from "viem";
import { getBalance, getBlock, getGasPrice, readContract } from "viem/actions";

import { RefusedError } from "./errors.ts";
import { escrowAbi, resolverAbi } from "./generated/abis.ts";
import type { EscrowTerms } from "./terms.ts";
import type { Wallet } from "./wallet.ts";

/**
 * Shortest dispute window that a gasless deal is signed for, in seconds. A buyer without ether has to get some before it
 * can dispute.
 */
export const MIN_GASLESS_DISPUTE_WINDOW = 3_600;

/** Longest time for which a gasless deal is signed, in seconds: the 15 minutes of a quote, and one for clocks that differ. */
const LONGEST_VALIDITY = 960;

/** A problem that the signer should know about but that doesn't prevent signing. */
export interface FundingWarning {
  code: "no_ether_for_dispute";
  text: string;
}

/** Receives a warning. By default, warnings go to the console. */
export type OnFundingWarning = (warning: FundingWarning) => void;

/** The resolver roles by their code on chain (ResolvedBy). */
const ROLES = [
  ["system", 0],
  ["admin", 1],
] as const;

/** Upper bound of the gas that `openDispute` uses. */
const OPEN_DISPUTE_GAS = 100_000n;

/**
 * Whoever relays a signature chooses when the escrow is created, and the resolvers of that second may rule it for ever.
 * So nothing is signed if a resolver can be replaced before the quote's end, or if that is unknown.
 * @throws RefusedError
 */
export async function requireKnownResolvers(wallet: Wallet, escrowContract: Address): Promise<void> {
  const pending = await pendingResolvers(wallet, escrowContract).catch((error: unknown) => {
    const why = "the resolver contract can't be read, so nobody knows who would rule the deal";
    throw new RefusedError(`no gasless funding is signed: ${why}`, { cause: error });
  });
  for (const [role, address] of pending) {
    if (address === zeroAddress) continue;
    throw new RefusedError(
      `no gasless funding is signed: the ${role} resolver is being replaced by ${address}, who could rule the deal if ` +
        "the relayer waits. Use fund, or check out again after the transfer",
    );
  }
}

async function pendingResolvers(wallet: Wallet, escrowContract: Address) {
  const escrow = { address: escrowContract, abi: escrowAbi } as const;
  const address = await readContract(wallet, { ...escrow, functionName: "resolverContract" });
  const resolver = { address, abi: resolverAbi, functionName: "pendingResolverOf" } as const;
  return Promise.all(
    ROLES.map(async ([role, code]) => [role, await readContract(wallet, { ...resolver, args: [code] })] as const),
  );
}

/** @throws RefusedError for a dispute window under an hour */
export function requireGaslessWindow({ disputeWindow }: Pick<EscrowTerms, "disputeWindow">): void {
  if (disputeWindow >= BigInt(MIN_GASLESS_DISPUTE_WINDOW)) return;
  throw new RefusedError(
    `no gasless funding is signed for a dispute window of ${disputeWindow} s: check out with gasless: true, or with a ` +
      `disputeWindow of at least ${MIN_GASLESS_DISPUTE_WINDOW} s`,
  );
}

/**
 * The longer a signature is valid, the longer a relayer can wait for other resolvers.
 * @throws RefusedError for an end that is later than that of a quote
 */
export async function requireShortValidity(wallet: Wallet, validBefore: bigint): Promise<void> {
  const { timestamp } = await getBlock(wallet);
  const now = Math.max(Math.floor(Date.now() / 1_000), Number(timestamp));
  if (validBefore <= BigInt(now + LONGEST_VALIDITY)) return;
  throw new RefusedError(
    `no gasless funding is signed until ${validBefore} (unix seconds): a quote ends by ${now + LONGEST_VALIDITY}`,
  );
}

/** Warns a buyer who couldn't pay for `openDispute` now. A balance that can't be read counts as none. */
export async function warnWithoutEther(
  wallet: Wallet,
  { buyer, disputeWindow }: Pick<EscrowTerms, "buyer" | "disputeWindow">,
  onWarning: OnFundingWarning = writeWarning,
): Promise<void> {
  const [balance, gasPrice] = await Promise.all([getBalance(wallet, { address: buyer }), getGasPrice(wallet)]).catch(
    () => [0n, 0n] as const,
  );
  if (balance > 0n && balance >= OPEN_DISPUTE_GAS * gasPrice) return;
  const text =
    `the wallet ${buyer} has no ether for openDispute on ${wallet.chain.name}: unless it gets some, it can't dispute a ` +
    `bad delivery within ${disputeWindow} s, and the seller is then paid`;
  onWarning({ code: "no_ether_for_dispute", text });
}

function writeWarning({ text }: FundingWarning): void {
  console.warn(`Gasless funding: ${text}`);
}
