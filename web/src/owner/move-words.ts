import { token } from "../words/amounts.ts";
import { networkName, shortHash } from "../words/names.ts";
import { clean, shortened } from "../words/strangers-text.ts";
import { stateWords } from "./deal-words.ts";

/** What a problem with a move is said about. */
export interface MoveContext {
  /** The wallet's name. */
  wallet: string;
  /** The session's account. */
  account: string;
  /** The deal's network, by its name in the API. */
  network: string;
  chainId: number;
}

const NOTHING = "Nothing was signed.";

/** Why a move wasn't made, and what to do. @param reason and `detail` of a `MoveError` */
export function moveWords(reason: string, detail: string, { wallet, account, network, chainId }: MoveContext): string {
  switch (reason) {
    case "other_chain":
      return `${wallet} is on chain ${detail}. This deal is on ${networkName(network)}, which is chain ${chainId}. ${NOTHING}`;
    case "other_account": {
      const shown = detail === "" ? "no account" : shortHash(detail);
      return `${wallet} shows ${shown}. You are signed in as ${shortHash(account)}: choose that account in the wallet. ${NOTHING}`;
    }
    case "not_listed":
      return `The service doesn't name this deal's ${detail} among those of its network. ${NOTHING} Tell the operator.`;
    case "no_contract":
      return (
        `${wallet} finds no escrow contract at ${shortHash(detail)}. It may reach another chain with the same number: ` +
        `look at the address of its node. ${NOTHING}`
      );
    case "differs":
      return `The chain has another ${detail} than this page shows. ${NOTHING} Reload the page; if that stays, tell the operator.`;
    case "state": {
      const state = stateWords(detail.toLowerCase())?.name.toLowerCase() ?? "unknown";
      return `On chain, the deal is ${state} already, so this move isn't possible. ${NOTHING} This page follows in a moment.`;
    }
    case "role":
      return `Only the deal's ${detail} can do this. ${NOTHING}`;
    case "taken":
      return `Another escrow has this deal's id, so the deposit can't be paid. ${NOTHING} Order the service again.`;
    case "criteria":
      return `This page can't show the criteria that the deposit would agree to. ${NOTHING} Reload the page; if that stays, tell the operator.`;
    case "fee":
      return `The contract would take another fee than this page shows. ${NOTHING} Tell the operator.`;
    case "quote_over":
      return `The offer is over: its price held for a while only. ${NOTHING} Order the service again, for today's price.`;
    case "balance":
      return `${shortHash(account)} holds less ${detail} than the deposit. ${NOTHING} Send it some, then try again.`;
    case "reverts":
      return `The contract refuses it: ${REFUSALS[detail] ?? detail}. ${NOTHING}`;
    default:
      return `That failed. ${NOTHING}`;
  }
}

/** What the contract's errors say about a move. */
const REFUSALS: Readonly<Record<string, string>> = {
  AbandonmentGraceElapsed: "the time to decline is over",
  AbandonmentGraceOpen: "the seller may still decline",
  AmountBelowMinimum: "the deposit is too small",
  BelowSellerMinimum: "the deposit is less than the seller takes",
  AgreementExpired: "the time of the signed terms is over",
  CallerNotBuyer: "the wallet's account isn't the deal's buyer",
  CallerNotSeller: "the wallet's account isn't the deal's seller",
  DeadlinePassed: "the time to deliver is over",
  DeadlineTooEarly: "too little time is left to deliver",
  DeliveryTimeBelowSellerMinimum: "the seller takes more time to deliver",
  DisputeWindowElapsed: "the time to accept or dispute is over",
  DisputeWindowOpen: "the buyer may still accept or dispute",
  Error: "the token refuses to pay",
  InvalidSignature: "one of the signatures isn't the party's own",
  NothingToWithdraw: "it holds nothing for the wallet's account any more",
  EscrowAlreadyExists: "the deposit is paid already",
  EscrowNotFound: "it has no such escrow",
  EscrowNotInState: "the deal has moved on",
  JobValueCapExceeded: "the deposit is more than the scores of the parties allow",
  NewEscrowsPaused: "it takes no new deposits at the moment",
  ResolutionNotExpired: "a ruling may still come",
  SellerPaused: "the seller takes no new jobs at the moment",
};

const TEXT_LENGTH = 200;

/**
 * Why the wallet didn't do what a move needs, and what to do.
 * @param reason of a `WalletError`
 * @param message the wallet's own words
 * @param wasAsked whether it was asked to send: only a refusal says that it hasn't
 */
export function moveWalletWords(
  reason: string,
  message: string,
  { wallet, network, chainId }: MoveContext,
  wasAsked: boolean,
): string {
  switch (reason) {
    case "refused":
      return `You refused in ${wallet}. ${NOTHING}`;
    case "busy":
      return `${wallet} has a question open already. Answer it in the wallet's own window, then try again.`;
    case "unknown_chain":
      return `${wallet} doesn't know ${networkName(network)}. Add the chain ${chainId} in the wallet, then try again.`;
    default: {
      const own = shortened(clean(message).text.trim(), TEXT_LENGTH).replace(/\.$/, "");
      const why = own === "" ? `${wallet} failed without a reason.` : `${wallet} says: ${own}.`;
      return `${why} ${wasAsked ? "Look in the wallet whether it has sent the transaction before you try again." : NOTHING}`;
    }
  }
}

const DIGITS = 3;
const ETHER_DECIMALS = 18;

/** An amount of ether with at most three digits, rounded up. @param wei at least 0 */
export function ether(wei: bigint): string {
  const unit = 10n ** BigInt(Math.max(0, wei.toString().length - DIGITS));
  return token((((wei + unit - 1n) / unit) * unit).toString(), ETHER_DECIMALS, "ETH");
}
