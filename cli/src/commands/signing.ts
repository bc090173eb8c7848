import { createInterface } from "node:readline/promises";

import type { Command } from "commander";

import type { Agent, Deal } from "../../../sdk/src/index.ts";
import { ToolRefusal } from "../../../tools/src/index.ts";
import type { CallToSign, Move, Signer } from "../../../tools/src/index.ts";
import { profileFiles } from "../config/profile.ts";
import { EXIT } from "../exit-codes.ts";
import { CommandFailure } from "../failure.ts";
import type { Input, Runtime } from "../runtime.ts";
import type { CommonOptions, Session } from "../session.ts";
import { facts, heading, text } from "../output/blocks.ts";
import type { Block } from "../output/blocks.ts";
import { readPassword } from "../wallet/password.ts";
import { openWallet } from "../wallet/wallet.ts";
import type { OpenWallet, WalletPlace } from "../wallet/wallet.ts";
import { amountText } from "./amounts.ts";

/** Options of a command that signs. */
export interface SigningOptions extends CommonOptions {
  intent?: string;
  yes?: true;
  dryRun?: true;
  passwordFile?: string;
}

/** A command that reads the wallet's password. */
export function takesPassword(command: Command): Command {
  return command.option("--password-file <file>", "file of mode 600 with the wallet's password; asked for by default");
}

/** A command that signs: it shows what, and asks. */
export function takesSignature(command: Command): Command {
  return takesPassword(command)
    .option("--yes", "sign without asking, within the limits of the wallet")
    .option("--dry-run", "show what would be signed, and sign nothing");
}

/** Where the wallet of a profile is. */
export function placeOf(runtime: Runtime, options: CommonOptions): WalletPlace {
  const { walletFolder: dir, stateFolder: stateDir } = profileFiles(runtime.environment, options.profile);
  return { dir, stateDir };
}

/** The password of the wallet, from the named file or the terminal. */
export const askPassword = (
  { environment }: Runtime,
  { passwordFile }: { passwordFile?: string | undefined },
  prompt?: string,
): Promise<string> => readPassword({ file: passwordFile ?? environment.passwordFile, prompt });

/** The wallet of the profile. @throws WalletError */
export async function unlockWallet(session: Session, options: SigningOptions): Promise<OpenWallet> {
  const { runtime } = session;
  return openWallet({ place: placeOf(runtime, options), password: await askPassword(runtime, options) });
}

/** An agent that can sign. */
export interface SigningAgent {
  wallet: OpenWallet;
  /** At the service that the wallet has pinned. */
  agent: Agent;
  signer: Signer;
}

/** Opens the wallet, and lets nothing be signed before it was shown and asked for. */
export async function openSigner(session: Session, options: SigningOptions): Promise<SigningAgent> {
  // First, so that nobody types a password for a profile that isn't set up.
  const apiKey = session.requireKey();
  const wallet = await unlockWallet(session, options);
  const agent = wallet.market.agent({ apiKey });
  const signer = options.dryRun === true ? wallet.dryRunSigner : askingSigner(session, wallet, options);
  return { wallet, agent, signer };
}

/** Shows each move with its amount before it is signed. */
function askingSigner(
  session: Session,
  { signer, dryRunSigner }: OpenWallet,
  { yes = false }: { yes?: boolean },
): Signer {
  return {
    async move(deal, move, options) {
      // It also checks the limits, so that nobody is asked for what would be refused.
      const plan = await dryRunSigner.move(deal, move, options);
      if (plan !== undefined) {
        session.output.noteBlocks(moveBlocks(deal, move));
        if (!yes) await requireYes(session.runtime.stdin, "Sign this?");
      }
      return signer.move(deal, move, options);
    },
  };
}

/** Requires a terminal: an agent that runs commands in a shell has none. @throws CommandFailure without one */
export function requirePerson(stdin: Input): void {
  if (stdin.isTTY === true) return;
  throw new CommandFailure({
    exitCode: EXIT.refusedByLimit,
    code: "terminal_required",
    message: "An approval is given on a terminal only.",
    whatToDo: "Ask the owner of the wallet to run this command on a terminal.",
  });
}

/** Asks a person on the terminal that standard input is. @throws ToolRefusal without a terminal, or for any answer but yes */
export async function requireYes(stdin: Input, question: string): Promise<void> {
  if (!stdin.isTTY) {
    throw new ToolRefusal({
      code: "not_confirmed",
      message: "There is no terminal to ask on. Nothing was signed.",
      whatToDo: "Repeat the command with --yes; the wallet's limits hold all the same.",
    });
  }
  const terminal = createInterface({ input: stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`${question} [y/N] `);
    if (/^y(es)?$/i.test(answer.trim())) return;
  } finally {
    terminal.close();
  }
  throw new ToolRefusal({
    code: "declined",
    message: "You said no. Nothing was signed.",
    whatToDo: "Run the command again when you want it.",
  });
}

/** What a move does with the money. */
export function moveBlocks({ terms, transactionId }: Deal, move: Move): Block[] {
  const { network, seller, buyer, amount, platformFee, refundableAmount } = terms;
  const show = (units: bigint): string => amountText(terms, units);
  const [whole, fee, rest] = [show(amount), show(platformFee), show(refundableAmount)];
  const does: Readonly<Record<Move, string>> = {
    fund: `pay ${whole} into escrow, of which ${fee} is the fee that is never refunded`,
    submitDelivery: `commit to the result on chain; ${rest} are paid after the buyer's window`,
    accept: `pay ${rest} to the seller; this can't be undone`,
    openDispute: `freeze ${rest} until a ruling`,
    finalize: `pay ${rest} to the seller`,
    claimAbandoned: `take ${rest} back`,
    refund: `give ${rest} back to the buyer`,
    resolveExpired: `divide ${rest} in halves`,
  };
  return [heading(`To be signed: ${does[move]}`), facts({ deal: transactionId, network, seller, buyer })];
}

/** Calls of a dry run. */
export function callBlocks(signature: unknown): Block[] {
  const { calls, sentence } = signature as { calls: CallToSign[]; sentence: string };
  return [
    heading("Nothing was signed. It would be:"),
    text(sentence),
    ...calls.map(({ to, data, value, chainId, description }) =>
      facts({ call: description, to, "chain id": chainId, "wei sent": value, data }),
    ),
  ];
}
