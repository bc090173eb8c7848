import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";

import { DEAL_BY_EXACT_APPROVAL, DEAL_IN_PLAIN_TOKEN, type GasReport, WHOLE_DEAL } from "./gas-measure.ts";
import type { GasWithout } from "./gas-without.ts";

/** The committed file: what a run measures, and what takes the compiler and is measured with `--write` only. */
export interface GasSnapshot extends GasReport {
  without: GasWithout;
}

const SNAPSHOT = "test/bench/gas-snapshot.json";
const PAGES = ["docs/operations/*.md", "docs/inside/score-farming.md"];
const MARKER = /<!-- (gas|part|farm):([^>]+?) -->(?:[^<]*<!-- \/\1 -->)?/g;
/** Rows of the report that a marker names by a shorter word. */
const ALIASES: Record<string, string> = {
  deal: WHOLE_DEAL,
  "deal by exact approval": DEAL_BY_EXACT_APPROVAL,
  "deal in a plain token": DEAL_IN_PLAIN_TOKEN,
  "createEscrow-small": "createEscrow (job of $10)",
  "refundMany-3": "refundMany (3 escrows)",
  resolveBySystem: "resolve",
};
/** Figures that follow from rows of the report, by the word in the marker. */
const DERIVED: Record<string, (row: (name: string) => number) => number> = {
  // The cheapest deal: its value is open to every score, so none is read.
  "small-deal": (row) => row("createEscrow-small") + row("submitDelivery") + row("accept"),
  "refund-3": (row) => 3 * row("refund"),
  above: (row) => row("deal in a plain token") - EXPLAINED_ABOVE,
  "usdc's own": (row) => row("deal") - row("deal in a plain token"),
  "refundMany-saved": (row) => Math.floor((row("refund-3") - row("refundMany-3")) / 2),
};
const MILLION = 1_000_000;
/** A whole deal in a plain token is explained part by part above this figure. */
export const EXPLAINED_ABOVE = 242_000;

/** What the committed snapshot says; undefined when there is none. */
export function readSnapshot(): GasSnapshot | undefined {
  return existsSync(SNAPSHOT) ? (JSON.parse(readFileSync(SNAPSHOT, "utf8")) as GasSnapshot) : undefined;
}

/** Replaces the committed snapshot and the figures in the pages. */
export function writeSnapshot(report: GasSnapshot): void {
  writeFileSync(SNAPSHOT, `${JSON.stringify(report, null, 2)}\n`);
  for (const page of pages()) writeFileSync(page, withFigures(readFileSync(page, "utf8"), report));
}

/** The pages whose figures are not those of the report. */
export function stalePages(report: GasSnapshot): string[] {
  return pages().filter((page) => {
    const text = readFileSync(page, "utf8");
    return text !== withFigures(text, report);
  });
}

function pages(): string[] {
  return PAGES.flatMap((pattern) => globSync(pattern)).sort();
}

/**
 * Fills the markers of a page: `<!-- gas:accept -->` becomes the gas of that operation, `<!-- part:caps: two scores -->`
 * that of a part of a deal, `<!-- farm:10 -->` that of ten deals of the cheapest kind.
 */
function withFigures(text: string, report: GasSnapshot): string {
  return text.replace(MARKER, (_all, kind: string, name: string) => {
    const figureOf = kind === "gas" ? operationFigure : kind === "part" ? partFigure : farmingFigure;
    return `<!-- ${kind}:${name} -->${figureOf(report, name)}<!-- /${kind} -->`;
  });
}

function operationFigure(report: GasSnapshot, name: string): string {
  return figure(report, name).toLocaleString("en-US");
}

/** One part, or of "all" the sum. */
function partFigure(report: GasSnapshot, name: string): string {
  const parts = explainedParts(report);
  const gas = name === "all" ? Object.values(parts).reduce((sum, part) => sum + part, 0) : parts[name];
  if (gas === undefined) throw new Error(`a page asks for the part "${name}", which is not measured`);
  return gas.toLocaleString("en-US");
}

/** What explains a whole deal's gas above `EXPLAINED_ABOVE`; no part is within another. */
export function explainedParts({ parts, without }: GasSnapshot): Record<string, number> {
  return { ...parts, ...without.saved };
}

function farmingFigure(report: GasSnapshot, deals: string): string {
  return `${((figure(report, "small-deal") * Number(deals)) / MILLION).toFixed(1)} million`;
}

function figure(report: GasSnapshot, name: string): number {
  const derived = DERIVED[name];
  if (derived !== undefined) return derived((row) => figure(report, row));
  const gas = report.gas[ALIASES[name] ?? name];
  if (gas === undefined) throw new Error(`a page asks for the gas of "${name}", which is not measured`);
  return gas;
}
