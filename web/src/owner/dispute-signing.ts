// Loaded only when an owner signs an offer or ends a dispute: it has the contracts' interfaces.
import { agreementData } from "../../../sdk/src/agreement-data.ts";
import { decodeResolver, encodeAgreement, encodeResolverRead } from "../../../sdk/src/calls.ts";
import type { SignedAgreement } from "../../../sdk/src/calls.ts";
import type { Answer, KeptSession } from "../data/answers.ts";
import type { BrowserWallet } from "./announcement.ts";
import { askApi } from "./api.ts";
import { disputePath } from "./deal-data.ts";
import {
  MoveError,
  planCall,
  problemOf,
  quantity,
  readChain,
  requireAccount,
  requireChain,
  requireEscrow,
} from "./moves.ts";
import type { DealTerms, MovePlan } from "./moves.ts";
import { SIGNATURE, WalletError } from "./signing.ts";
import { ask } from "./wallet-calls.ts";

type Hex = `0x${string}`;

/** What an offer says: a share, and until when it holds. */
export interface OfferTerms {
  /** The buyer's share, 0 to 100. */
  buyerPercent: number;
  /** A deadline in unix seconds, or the seconds from now by the chain's time. */
  until: { deadline: number } | { seconds: number };
}

/** The types of a domain with a contract, which wallets want beside the others. */
const DOMAIN_TYPES = [
  { name: "name", type: "string" },
  { name: "version", type: "string" },
  { name: "chainId", type: "uint256" },
  { name: "verifyingContract", type: "address" },
];

/** Says why an offer wasn't signed; undefined for what isn't about the deal. */
export function offerProblem(error: unknown, wallet: BrowserWallet | undefined, terms: DealTerms): string | undefined {
  if (!(error instanceof MoveError)) return undefined;
  const { text, isOtherChain } = problemOf(error, wallet, terms, false);
  return isOtherChain ? `${text} Change the chain in the wallet, then try again.` : text;
}

/**
 * Has an offer signed (EIP-712) for the contract that the chain names, and sends it to the service.
 * @throws MoveError, WalletError
 */
export async function sendOffer(
  wallet: BrowserWallet,
  session: KeptSession,
  disputeId: string,
  terms: DealTerms,
  { buyerPercent, until }: OfferTerms,
): Promise<Answer> {
  const { chainId, escrowId } = terms.deal;
  const resolver = await requireResolver(wallet, terms);
  const deadline = "deadline" in until ? until.deadline : (await timeOf(wallet)) + until.seconds;
  const { types, ...data } = agreementData({ chainId, resolver, escrowId: escrowId as Hex, buyerPercent, deadline });
  const typed = JSON.stringify({ ...data, types: { EIP712Domain: DOMAIN_TYPES, ...types } }, bigintAsDigits);
  // The owner may have changed both meanwhile.
  const account = await requireAccount(wallet, terms.account);
  await requireChain(wallet, chainId);
  const signature = await ask(wallet, "eth_signTypedData_v4", [account, typed]);
  if (typeof signature !== "string" || !SIGNATURE.test(signature)) throw new WalletError("not_a_key");
  const body = { buyerPercent, deadline, signature };
  return askApi(`${disputePath(disputeId)}/settlement`, { method: "POST", body }, session);
}

/** Prepares the transaction that ends a dispute as both parties have signed. @throws MoveError, WalletError */
export async function prepareAgreement(
  wallet: BrowserWallet,
  terms: DealTerms,
  agreement: SignedAgreement,
): Promise<MovePlan> {
  const { chainId, escrowId } = terms.deal;
  const to = await requireResolver(wallet, terms);
  const data = encodeAgreement(escrowId as Hex, agreement);
  return planCall(wallet, { chainId, from: terms.account, to, data });
}

/** The resolver contract, as the escrow contract on chain names it, once the page's deal is the chain's. */
async function requireResolver(wallet: BrowserWallet, terms: DealTerms): Promise<Hex> {
  const escrowContract = await requireEscrow(wallet, terms, "Disputed");
  return readChain(wallet, escrowContract, encodeResolverRead(), decodeResolver);
}

const MS = 1_000;

/** Now in unix seconds: the chain's time, which decides whether an agreement holds, if that is ahead. */
async function timeOf(wallet: BrowserWallet): Promise<number> {
  const block = await ask(wallet, "eth_getBlockByNumber", ["latest", false]);
  const { timestamp } = (block ?? {}) as { timestamp?: unknown };
  return Math.max(Number(quantity(timestamp)), Math.floor(Date.now() / MS));
}

function bigintAsDigits(_name: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}
