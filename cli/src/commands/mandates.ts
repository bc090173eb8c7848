import type { Command } from "commander";
import { InvalidArgumentError } from "commander";

import type { Approval, Mandate } from "../../../sdk/src/index.ts";
import { usageFailure } from "../failure.ts";
import { listOf, wholeNumber, yesOrNo } from "../options.ts";
import { facts, heading, stranger, text } from "../output/blocks.ts";
import type { Block } from "../output/blocks.ts";
import type { Runtime } from "../runtime.ts";
import type { Session } from "../session.ts";
import { parseUsd, usdText } from "../wallet/usd.ts";
import { addCommand, does } from "./define.ts";
import { requirePerson, requireYes, takesPassword, unlockWallet } from "./signing.ts";
import type { SigningOptions } from "./signing.ts";

const DAY_MS = 86_400_000;
const MOST_DAYS = 365;

interface MandateOptions extends SigningOptions {
  perDeal: bigint;
  perDay: bigint;
  total: bigint;
  scopes: string[];
  days: number;
  categories?: string[];
  sellers?: string[];
  networks?: string[];
  requireCriteria?: boolean;
  askAbove?: true;
}

/** Adds `keys mandate`, which makes a bounded key for another program. */
export function addMandate(keys: Command, runtime: Runtime): void {
  const make = takesPassword(addCommand(keys, "mandate", "make a key that may spend so much and no more"))
    .requiredOption("--per-deal <usd>", "most for one purchase", usd)
    .requiredOption("--per-day <usd>", "most for a UTC day", usd)
    .requiredOption("--total <usd>", "most in all", usd)
    .requiredOption("--scopes <names>", "what it may do, with commas: read, buy, sell, message, memory", listOf)
    .requiredOption("--days <days>", `when it ends, 1 to ${MOST_DAYS}`, wholeNumber(1, MOST_DAYS))
    .option("--categories <slugs>", "deals of these alone, with commas between", listOf)
    .option("--sellers <addresses>", "deals with these wallets alone, with commas between", listOf)
    .option("--networks <names>", "deals on these alone, with commas between", listOf)
    .option("--require-criteria <yes|no>", "whether each deal must have criteria", yesOrNo)
    .option("--ask-above", "above an amount ask for your approval, instead of refusing");
  does<MandateOptions>(make, runtime, async (session, options) => {
    const wallet = await unlockWallet(session, options);
    const [pin] = wallet.pins.networks;
    if (pin === undefined)
      throw usageFailure("The wallet has pinned no network.", "Run `agent-marketplace init --repin`.");
    const mandate = mandateOf(options);
    wallet.permitStatement("Mandate");
    const request = { wallet: wallet.walletOn(pin.network), mandate };
    const { apiKey, keyId, expiresAt } = await session.output.progress("Signing", wallet.market.issueKey(request));
    session.output.result({ keyId, apiKey, expiresAt }, () => [
      facts({ key: apiKey, id: keyId, ends: expiresAt }),
      text("The key is shown this once. It signs nothing: paying takes a wallet."),
    ]);
    return undefined;
  });
}

/** Adds `approvals`, which lists and decides what bounded keys have asked for. */
export function addApprovals(program: Command, runtime: Runtime): void {
  const approvals = program.command("approvals").description("decide on purchases above a key's mandate");

  const list = addCommand(approvals, "list", "list what keys with a mandate have asked for, newest first", {
    isDefault: true,
  }).option("--all", "also what is decided or has ended");
  does<{ all?: true }>(list, runtime, async (session, { all = false }) => {
    const found: Approval[] = [];
    for await (const approval of session.agent().approvals.list()) {
      if (all || approval.status === "open") found.push(approval);
    }
    session.output.result({ approvals: found }, () =>
      found.length === 0 ? [text("Nothing waits.")] : found.flatMap(approvalBlocks),
    );
    return undefined;
  });

  const grant = takesPassword(addCommand(approvals, "grant <id>", "let a key make this one purchase")).option(
    "--max <usd>",
    "the most that it may cost; by default what was asked",
    usd,
  );
  does<SigningOptions & { max?: bigint }>(grant, runtime, async (session, options, id) => {
    // As with `approve`, so that no program grants its own wish.
    requirePerson(runtime.stdin);
    const apiKey = session.requireKey();
    const approval = await findApproval(session, id);
    const wallet = await unlockWallet(session, options);
    wallet.permitStatement("Approval");
    const maxUsd = options.max ?? parseUsd(approval.askedUsd);
    session.output.noteBlocks(approvalBlocks(approval));
    await requireYes(runtime.stdin, `Let this key buy it for at most ${usdText(maxUsd ?? 0n)}?`);
    const agent = wallet.market.agent({ apiKey, wallet: wallet.walletOn(approval.network) });
    const granted = await agent.approvals.grant(approval, { ...(maxUsd === undefined ? {} : { maxUsd }) });
    session.output.result({ approval: granted }, () => [
      text(`Granted up to $${granted.maxUsd ?? ""}, once, until ${granted.expiresAt}.`),
    ]);
    return undefined;
  });

  const decline = addCommand(approvals, "decline <id>", "refuse it, or take back a grant that isn't used yet");
  does(decline, runtime, async (session, _options, id) => {
    const declined = await session.agent().approvals.decline(id);
    session.output.result({ approval: declined }, () => [
      text(`Declined. The key is refused until ${declined.expiresAt}.`),
    ]);
    return undefined;
  });
}

function mandateOf(options: MandateOptions): Mandate {
  const { perDeal, perDay, total, scopes, days, categories, sellers, networks, requireCriteria, askAbove } = options;
  // The service says which of the names it doesn't know.
  const lists = { scopes, categories: categories ?? [], sellers: sellers ?? [], networks: networks ?? [] } as Pick<
    Mandate,
    "scopes" | "categories" | "sellers" | "networks"
  >;
  return {
    ...lists,
    perDealUsd: perDeal,
    perDayUsd: perDay,
    totalUsd: total,
    requireCriteria: requireCriteria ?? false,
    onExceeded: askAbove === true ? "approval" : "refuse",
    notAfter: new Date(Date.now() + days * DAY_MS),
  };
}

async function findApproval(session: Session, id: string): Promise<Approval> {
  for await (const approval of session.agent().approvals.list()) if (approval.id === id) return approval;
  throw usageFailure(
    `There is no approval ${id}.`,
    "Run `agent-marketplace approvals --all` for those of the last days.",
  );
}

function approvalBlocks({ id, status, keyId, network, request, bound, askedUsd, ...rest }: Approval): Block[] {
  return [
    heading(`${id}  $${askedUsd}`),
    facts({
      state: status,
      "asked by": keyId,
      network,
      seller: rest.sellerAddress,
      "is above": bound,
      "granted up to": rest.maxUsd === null ? undefined : `$${rest.maxUsd}`,
      deal: rest.transactionId,
      "ends at": rest.expiresAt,
    }),
    ...stranger("service", { untrusted: true, from: rest.sellerAddress, text: rest.serviceTitle }),
    // The holder of the key wrote it, and may be a model that was talked into it.
    ...stranger("order", { untrusted: true, from: keyId, text: JSON.stringify(request) }),
  ];
}

function usd(given: string): bigint {
  const units = parseUsd(given);
  if (units !== undefined && units > 0n) return units;
  throw new InvalidArgumentError("must be dollars such as 12.50, above 0");
}
