import { Option } from "commander";
import type { Command } from "commander";
import { getAddress } from "viem";
import type { Address } from "viem";

import { EscrowContract } from "../../../sdk/src/index.ts";
import type { Deal, Network } from "../../../sdk/src/index.ts";
import { NETWORKS } from "../chains.ts";
import { CommandFailure, usageFailure } from "../failure.ts";
import { EXIT } from "../exit-codes.ts";
import { wholeNumber } from "../options.ts";
import { facts, heading, text } from "../output/blocks.ts";
import type { Runtime } from "../runtime.ts";
import type { Session } from "../session.ts";
import { amountText } from "./amounts.ts";
import { addCommand, beginIntent, does, takesIntent } from "./define.ts";
import { requireYes, takesSignature, unlockWallet } from "./signing.ts";
import type { SigningOptions } from "./signing.ts";

/** How long a transaction may wait for its block. */
const SEND_MS = 90_000;

/** Adds `agree` and `withdraw`, which no tool of the catalogue does. */
export function addSettle(program: Command, runtime: Runtime): void {
  const agree = takesSignature(
    takesIntent(addCommand(program, "agree <dealId>", "settle a dispute: offer a division, or take the other party's")),
  ).requiredOption("--buyer-percent <n>", "the buyer's share, 0 to 100; the seller gets the rest", wholeNumber(0, 100));
  does<SigningOptions & { buyerPercent: number }>(agree, runtime, async (session, options, dealId) => {
    const { deal, address } = await openDeal(session, options, dealId);
    const { buyerPercent, dryRun, yes } = options;
    const { amount, refundableAmount, network } = deal.terms;
    const toBuyer = (refundableAmount * BigInt(buyerPercent)) / 100n;
    session.output.noteBlocks([
      heading(`To be signed: ${amountText(deal.terms, toBuyer)} to the buyer, the rest to the seller`),
      facts({ deal: dealId, network, deposit: amountText(deal.terms, amount) }),
    ]);
    if (dryRun === true) {
      session.output.result({ dealId, buyerPercent, signed: false }, () => [text("Nothing was signed.")]);
      return undefined;
    }
    if (yes !== true) await requireYes(runtime.stdin, "Sign this?");
    beginIntent(session, options);
    const state = await session.output.progress("Settling", settle(deal, buyerPercent, address));
    session.output.result({ dealId, buyerPercent, state }, () => [
      text(
        state === "offered" ? "Offered. The other party has an hour to agree." : "Both have signed, and it is paid.",
      ),
    ]);
    return undefined;
  });

  const withdraw = takesSignature(
    takesIntent(addCommand(program, "withdraw", "withdraw what failed payouts have left for you in the contract")),
  )
    .addOption(new Option("--network <name>", "the chain").choices(NETWORKS).default("base-sepolia"))
    .addOption(new Option("--token <symbol>", "the token").choices(["USDC", "WETH"]).default("USDC"));
  interface WithdrawOptions extends SigningOptions {
    network: Network;
    token: string;
  }
  does<WithdrawOptions>(withdraw, runtime, async (session, options) => {
    const wallet = await unlockWallet(session, options);
    const { network, token: symbol, dryRun, yes } = options;
    const pin = wallet.pins.networks.find((candidate) => candidate.network === network);
    const token = pin?.tokens.find((candidate) => candidate.symbol === symbol)?.address;
    if (pin === undefined || token === undefined) {
      throw usageFailure(`The wallet has pinned no ${symbol} on ${network}.`, "Choose another --network or --token.");
    }
    const escrow = new EscrowContract(wallet.walletOn(network), pin.escrow);
    const credit = await escrow.creditOf(getAddress(wallet.address), token);
    const amount = amountText({ token }, credit);
    if (credit === 0n) {
      session.output.result({ network, token: symbol, baseUnits: 0n }, () => [text("There is nothing to withdraw.")]);
      return undefined;
    }
    session.output.noteBlocks([heading(`To be signed: withdraw ${amount} to ${wallet.address}`)]);
    if (dryRun === true) {
      session.output.result({ network, token: symbol, baseUnits: credit, signed: false }, () => [
        text("Nothing was signed."),
      ]);
      return undefined;
    }
    if (yes !== true) await requireYes(runtime.stdin, "Sign this?");
    beginIntent(session, options);
    const sending = escrow.withdraw(token, { timeoutMs: SEND_MS });
    const { transactionHash } = await session.output.progress("Waiting for the block", sending);
    session.output.result({ network, token: symbol, baseUnits: credit, transactionHash }, () => [
      text(`Withdrew ${amount} in transaction ${transactionHash}.`),
    ]);
    return undefined;
  });
}

/** The deal with a wallet that can sign on its network. */
async function openDeal(
  session: Session,
  options: SigningOptions,
  dealId: string,
): Promise<{ deal: Deal; address: Address }> {
  const wallet = await unlockWallet(session, options);
  const agent = wallet.market.agent({ apiKey: session.requireKey() });
  const { network } = (await agent.deal(dealId)).terms;
  const deal = await agent.withWallet(wallet.walletOn(network)).deal(dealId);
  return { deal, address: wallet.address };
}

/**
 * Takes the other party's offer of the same division, and sends both signatures; otherwise offers the division.
 * A repeat goes on where the last one ended.
 */
async function settle(deal: Deal, buyerPercent: number, address: Address): Promise<"offered" | "paid"> {
  const { dispute } = deal;
  const { status, settlement } = await dispute.read();
  if (status === "resolved") {
    throw new CommandFailure({
      exitCode: EXIT.failed,
      code: "dispute_resolved",
      message: "The dispute has been resolved.",
      whatToDo: `Look at the outcome: agent-marketplace deal ${deal.transactionId}`,
    });
  }
  const { buyer, seller } = settlement.offers;
  const isOpen = (offer: typeof buyer): boolean => offer?.status === "open" && offer.buyerPercent === buyerPercent;
  const isBuyer = deal.terms.buyer.toLowerCase() === address.toLowerCase();
  const [own, other] = isBuyer ? [buyer, seller] : [seller, buyer];
  if (!isOpen(other)) {
    if (!isOpen(own)) await dispute.offerSettlement({ buyerPercent });
    return "offered";
  }
  if (!isOpen(own) || own?.deadline !== other?.deadline) await dispute.acceptSettlement(buyerPercent);
  await dispute.agree({ timeoutMs: SEND_MS });
  return "paid";
}
