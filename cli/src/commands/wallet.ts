import type { Command } from "commander";

import { usageFailure } from "../failure.ts";
import { listOf, readJsonObject, yesOrNo } from "../options.ts";
import { facts, table, text } from "../output/blocks.ts";
import type { Block } from "../output/blocks.ts";
import type { Input, Runtime } from "../runtime.ts";
import { DEFAULT_LIMITS } from "../wallet/limits.ts";
import type { Limits } from "../wallet/limits.ts";
import { usdText } from "../wallet/usd.ts";
import { WalletError } from "../wallet/wallet-error.ts";
import { approve, openWallet, setLimits } from "../wallet/wallet.ts";
import { addCommand, does } from "./define.ts";
import { askPassword, placeOf, requirePerson, requireYes, takesPassword, unlockWallet } from "./signing.ts";
import type { SigningOptions } from "./signing.ts";

interface LimitOptions extends SigningOptions {
  perDeal?: string;
  perDay?: string;
  total?: string;
  confirmAbove?: string | null;
  categories?: string[];
  sellers?: string[];
  networks?: string[];
  requireCriteria?: boolean;
  input?: string;
}

/** Adds `limits` and `approve`, which bound what the wallet spends. */
export function addWallet(program: Command, runtime: Runtime): void {
  const limits = program.command("limits").description("show and set what the wallet may spend");
  const show = takesPassword(addCommand(limits, "show", "show the limits, and what was spent", { isDefault: true }));
  does<SigningOptions>(show, runtime, async (session, options) => {
    const wallet = await unlockWallet(session, options);
    const [set, spent, waiting] = await Promise.all([wallet.limits(), wallet.spent(), wallet.waiting()]);
    session.output.result({ limits: set, spent, waiting }, () => [
      ...limitBlocks(set),
      facts({ "spent today": usdText(spent.todayUsd), "spent in total": usdText(spent.totalUsd) }),
      ...(waiting.length === 0
        ? []
        : [
            table(
              ["waits for approve", "until", "what"],
              waiting.map(({ id, expiresAt, summary }) => [id, expiresAt, summary]),
            ),
          ]),
    ]);
    return undefined;
  });

  const set = takesPassword(addCommand(limits, "set", "change some limits; asks for the password"))
    .option("--per-deal <usd>", "most for one deal, and for one call that is paid for")
    .option("--per-day <usd>", "most for a UTC day")
    .option("--total <usd>", "most for ever")
    .option("--confirm-above <usd>", "a dearer deal needs `approve`; none if no deal does", (given) =>
      given === "none" ? null : given,
    )
    .option("--categories <slugs>", "only these, with commas between; none for any", listOf)
    .option("--sellers <addresses>", "only these wallets, with commas between; none for any", listOf)
    .option("--networks <names>", "only these, with commas between; none for any", listOf)
    .option("--require-criteria <yes|no>", "whether only orders with criteria are paid for", yesOrNo)
    .option("--input <file>", "JSON object with all limits, - for standard input");
  does<LimitOptions>(set, runtime, async (session, options) => {
    const changes = await changesOf(options, runtime.stdin);
    const place = placeOf(runtime, options);
    const password = await askPassword(runtime, options, "Password, to change the limits: ");
    const before = await limitsBefore(place, password);
    const after = await setLimits(place, password, { ...before, ...changes });
    session.output.result({ limits: after }, () => limitBlocks(after));
    return undefined;
  });

  const grant = takesPassword(addCommand(program, "approve <id>", "approve what waits above the limits' confirmAbove"));
  does<SigningOptions>(grant, runtime, async (session, options, id) => {
    requirePerson(runtime.stdin);
    const place = placeOf(runtime, options);
    const password = await askPassword(runtime, options);
    const waits = (
      await openWallet({ place, password }).then(
        (wallet) => wallet.waiting(),
        () => [],
      )
    ).find((asked) => asked.id === id);
    session.output.note(waits?.summary ?? "A ledger that is missing, older or altered begins anew.");
    await requireYes(runtime.stdin, "Approve this?");
    const summary = await approve(place, password, id);
    session.output.result({ id, approved: summary }, () => [text(`Approved: ${summary}`)]);
    return undefined;
  });
}

/** The limits that hold until now; those of a new wallet if they are broken and are to be set again. */
async function limitsBefore(place: Parameters<typeof setLimits>[0], password: string): Promise<Readonly<Limits>> {
  const wallet = await openWallet({ place, password });
  try {
    return await wallet.limits();
  } catch (error) {
    if (error instanceof WalletError && error.code === "limits_broken") return DEFAULT_LIMITS;
    throw error;
  }
}

async function changesOf(options: LimitOptions, stdin: Input): Promise<Record<string, unknown>> {
  const named = {
    perDealUsd: options.perDeal,
    perDayUsd: options.perDay,
    totalUsd: options.total,
    confirmAboveUsd: options.confirmAbove,
    categories: options.categories,
    sellers: options.sellers,
    networks: options.networks,
    requireCriteria: options.requireCriteria,
  };
  const given = Object.entries(named).filter(([, value]) => value !== undefined);
  const whole = options.input === undefined ? {} : await readJsonObject("--input", options.input, stdin);
  const changes = { ...whole, ...Object.fromEntries(given) };
  if (Object.keys(changes).length > 0) return changes;
  throw usageFailure("No limit was named.", "See `agent-marketplace limits set --help`.");
}

function limitBlocks(limits: Limits): Block[] {
  const any = (items: readonly string[]): string => (items.length === 0 ? "any" : items.join(", "));
  return [
    facts({
      "a deal": `$${limits.perDealUsd}`,
      "a day": `$${limits.perDayUsd}`,
      "in total": `$${limits.totalUsd}`,
      "asks above": limits.confirmAboveUsd === null ? "nothing" : `$${limits.confirmAboveUsd}`,
      categories: any(limits.categories),
      sellers: any(limits.sellers),
      networks: any(limits.networks),
      "criteria required": limits.requireCriteria,
    }),
  ];
}
