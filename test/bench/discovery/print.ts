import { LANGUAGES, LISTING_KINDS, QUERY_KINDS } from "./corpus.ts";
import type { BenchListing, BenchQuery } from "./corpus.ts";
import type { Report } from "./report.ts";

/** How each ranker did, by its name. */
export type Reports = ReadonlyMap<string, Report>;

const TITLE_WIDTH = 36;
const CELL_WIDTH = 15;

const print = (title: string, cells: readonly string[]): void => {
  console.log(`${title.padEnd(TITLE_WIDTH)}${cells.map((cell) => cell.padStart(CELL_WIDTH)).join("")}`);
};
const measured = (value: number | undefined, digits: number): string => value?.toFixed(digits) ?? "-";

/** Figures of the first bench's queries: with the grades that they first had, and with those of today. */
export function printBoth(first: Reports, today: Reports, queries: readonly BenchQuery[]): void {
  const row = (title: string, valueOf: (report: Report) => number | undefined): void => {
    const cells = [...first].map(([name, report]) => {
      const now = today.get(name);
      return `${measured(valueOf(report), 3)} ${measured(now && valueOf(now), 3)}`;
    });
    print(title, cells);
  };
  print("first grades, and those of today", [...first.keys()]);
  printMeans(row);
  for (const kind of QUERY_KINDS) {
    const count = queries.filter((query) => query.kind === kind).length;
    if (count > 0) row(`nDCG@10, ${count} ${kind}`, (report) => report.byKind[kind]);
  }
}

/** Figures of all queries. */
export function printAll(reports: Reports, queries: readonly BenchQuery[], listings: readonly BenchListing[]): void {
  const row = (title: string, valueOf: (report: Report) => number | undefined, digits = 3): void => {
    print(
      title,
      [...reports.values()].map((report) => measured(valueOf(report), digits)),
    );
  };
  print("", [...reports.keys()]);
  printMeans(row);
  for (const kind of QUERY_KINDS) {
    const count = queries.filter((query) => query.kind === kind).length;
    if (count > 0) row(`nDCG@10, ${count} ${kind}`, (report) => report.byKind[kind]);
  }
  for (const language of LANGUAGES) {
    const count = queries.filter((query) => query.language === language).length;
    if (count > 0) row(`nDCG@10, ${count} foreign: ${language}`, (report) => report.byLanguage[language]);
  }
  for (const kind of LISTING_KINDS) {
    if (kind === "genuine" || !listings.some((listing) => listing.kind === kind)) continue;
    row(`${kind} in the first three`, (report) => report.intruders[kind], 0);
  }
  row("repeats in the first three", (report) => report.repeats, 0);
}

function printMeans(row: (title: string, valueOf: (report: Report) => number | undefined) => void): void {
  row("nDCG@10", (report) => report.ndcg10);
  row("MRR", (report) => report.mrr);
  row("recall@20", (report) => report.recall20);
}
