import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";

import { type GasReport, WHOLE_DEAL } from "./gas-measure.ts";

const SNAPSHOT = "test/bench/gas-snapshot.json";
const PAGES = ["docs/operations/*.md", "docs/score-farming.md"];
const MARKER = /<!-- (gas|farm):([\w-]+) -->(?:[^<]*<!-- \/\1 -->)?/g;
/** Rows of the report that a marker names by a shorter word. */
const ALIASES: Record<string, string> = { deal: WHOLE_DEAL, "createEscrow-small": "createEscrow (job of $10)" };
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
 * whole deals.
 */
function withFigures(text: string, report: GasReport): string {
  return text.replace(MARKER, (_all, kind: string, name: string) => {
    const figure = kind === "gas" ? operationFigure(report, name) : farmingFigure(report, name);
    return `<!-- ${kind}:${name} -->${figure}<!-- /${kind} -->`;
  });
}

function operationFigure(report: GasReport, name: string): string {
  const gas = report.gas[ALIASES[name] ?? name];
  if (gas === undefined) throw new Error(`a page asks for the gas of "${name}", which is not measured`);
  return gas.toLocaleString("en-US");
}

function farmingFigure(report: GasReport, deals: string): string {
  const gas = report.gas[WHOLE_DEAL] ?? 0;
  return `${((gas * Number(deals)) / MILLION).toFixed(1)} million`;
}
