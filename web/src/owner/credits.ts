// Loaded only when an owner looks for credits.
import { decodeCredit, encodeCreditRead, encodeWithdraw } from "../../../sdk/src/calls.ts";
import type { NetworkStatus } from "../../../sdk/src/generated/api-types.ts";
import { networkName } from "../words/names.ts";
import type { BrowserWallet } from "./announcement.ts";
import { moveWalletWords, moveWords } from "./move-words.ts";
import { chainOf, MoveError, planCall, requireAccount } from "./moves.ts";
import type { MovePlan } from "./moves.ts";
import { WalletError } from "./signing.ts";
import { ask } from "./wallet-calls.ts";

type Hex = `0x${string}`;

/** What failed payouts left for the agent in a token. */
export interface Credit {
  symbol: string;
  token: string;
  decimals: number;
  /** The token's smallest units; more than 0. */
  units: bigint;
}

/** What was found on the chain that the wallet is on. */
export interface FoundCredits {
  network: NetworkStatus;
  credits: readonly Credit[];
}

/** The wallet is on a chain that the service doesn't serve. */
class UnknownChain extends Error {}

const HEX_DATA = /^0x([0-9a-fA-F]{2})+$/;

/** Reads an account's credits through the wallet: a call for each token. @throws an error that `creditProblem` knows */
export async function readCredits(
  wallet: BrowserWallet,
  account: string,
  networks: readonly NetworkStatus[],
): Promise<FoundCredits> {
  await requireAccount(wallet, account);
  const chainId = await chainOf(wallet);
  const network = networks.find((one) => BigInt(one.chainId) === chainId);
  if (network === undefined) throw new UnknownChain(chainId.toString());
  const { escrow: to } = network.contracts;
  const read = network.tokens.map(async ({ symbol, address: token, decimals }): Promise<Credit> => {
    const data = encodeCreditRead(account as Hex, token as Hex);
    const answer = await ask(wallet, "eth_call", [{ to, data }, "latest"]);
    return { symbol, token, decimals, units: creditIn(answer, to) };
  });
  const all = await Promise.all(read);
  return { network, credits: all.filter(({ units }) => units > 0n) };
}

function creditIn(answer: unknown, contract: string): bigint {
  // An address without a contract answers nothing.
  if (typeof answer !== "string" || !HEX_DATA.test(answer)) throw new MoveError("no_contract", contract);
  return decodeCredit(answer as Hex);
}

/** Prepares the withdrawal of a credit to the account itself. @throws an error that `creditProblem` knows */
export async function prepareWithdrawal(
  wallet: BrowserWallet,
  account: string,
  { chainId, contracts }: NetworkStatus,
  { token }: Credit,
): Promise<MovePlan> {
  await requireAccount(wallet, account);
  const current = await chainOf(wallet);
  if (current !== BigInt(chainId)) throw new MoveError("other_chain", current.toString());
  const data = encodeWithdraw(token as Hex);
  return planCall(wallet, { chainId, from: account, to: contracts.escrow, data });
}

/** Why nothing was read or withdrawn. @param network the one that was read before, if any */
export function creditProblem(
  error: unknown,
  wallet: string,
  account: string,
  network: NetworkStatus | undefined,
  networks: readonly NetworkStatus[],
  wasAsked: boolean,
): string {
  const served = networks.map((one) => networkName(one.network)).join(" or ");
  if (error instanceof UnknownChain) {
    return `${wallet} is on chain ${error.message}, which this service doesn't serve. Switch it to ${served}, then look again.`;
  }
  const chainId = network?.chainId ?? 0;
  const context = { wallet, account, network: network?.network ?? "", chainId };
  if (error instanceof MoveError) {
    return error.reason === "other_chain"
      ? `${wallet} is on chain ${error.detail} now, and the credit is on chain ${chainId}. Nothing was signed. Look again.`
      : moveWords(error.reason, error.detail, context);
  }
  const { reason, message } = error instanceof WalletError ? error : { reason: "failed", message: String(error) };
  return moveWalletWords(reason, message, context, wasAsked);
}
