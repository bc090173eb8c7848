import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";

import { type GasReport, WHOLE_DEAL } from "./gas-measure.ts";

const SNAPSHOT = "test/bench/gas-snapshot.json";
const PAGES = ["docs/operations/*.md", "docs/score-farming.md"];
const MARKER = /<!-- (gas|farm):([^>]+?) -->(?:[^<]*<!-- \/\1 -->)?/g;
/** Rows of the report that a marker names by a shorter word. */
const ALIASES: Record<string, string> = {
  deal: WHOLE_DEAL,
  "createEscrow-small": "createEscrow (job of $10)",
  "refundMany-3": "refundMany (3 escrows)",
  resolveBySystem: "resolve",
};
/** Figures that follow from rows of the report, by the word in the marker. */
const DERIVED: Record<string, (row: (name: string) => number) => number> = {
  // The cheapest deal: its value is open to every score, so none is read.
  "small-deal": (row) => row("createEscrow-small") + row("submitDelivery") + row("accept"),
  "refund-3": (row) => 3 * row("refund"),
  "refundMany-saved": (row) => Math.floor((row("refund-3") - row("refundMany-3")) / 2),
};
const MILLION = 1_000_000;

/** What the committed snapshot says; undefined when there is none. */
export function readSnapshot(): GasReport | undefined {
  return existsSync(SNAPSHOT) ? (JSON.parse(readFileSync(SNAPSHOT, "utf8")) as GasReport) : undefined;
}

/** Replaces the committed snapshot and the figures in the pages. */
export function writeSnapshot(report: GasReport): void {
  writeFileSync(SNAPSHOT, `${JSON.stringify(report, null, 2)}\n`);
  for (const page of pages()) writeFileSync(page, withFigures(readFileSync(page, "utf8"), report));
}

/** The pages whose figures are not those of the report. */
export function stalePages(report: GasReport): string[] {
  return pages().filter((page) => {
    const text = readFileSync(page, "utf8");
    return text !== withFigures(text, report);
  });
}

function pages(): string[] {
  return PAGES.flatMap((pattern) => globSync(pattern)).sort();
}

/**
 * Fills the markers of a page: `<!-- gas:accept -->` becomes the gas of that operation, `<!-- farm:10 -->` that of ten
 * deals of the cheapest kind.
 */
function withFigures(text: string, report: GasReport): string {
  return text.replace(MARKER, (_all, kind: string, name: string) => {
    const figure = kind === "gas" ? operationFigure(report, name) : farmingFigure(report, name);
    return `<!-- ${kind}:${name} -->${figure}<!-- /${kind} -->`;
  });
}

function operationFigure(report: GasReport, name: string): string {
  return figure(report, name).toLocaleString("en-US");
}

function farmingFigure(report: GasReport, deals: string): string {
  return `${((figure(report, "small-deal") * Number(deals)) / MILLION).toFixed(1)} million`;
}

function figure(report: GasReport, name: string): number {
  const derived = DERIVED[name];
  if (derived !== undefined) return derived((row) => figure(report, row));
  const gas = report.gas[ALIASES[name] ?? name];
  if (gas === undefined) throw new Error(`a page asks for the gas of "${name}", which is not measured`);
  return gas;
}
