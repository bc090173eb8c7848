import { existsSync, readFileSync } from "node:fs";

import { isNightFile } from "./nightly.ts";
import type { TestResult } from "./results.ts";

/** One numbered fact of the specification. */
export interface Fact {
  id: string;
  text: string;
}

/** The proven facts, compared with all facts and the pending ones. */
export interface Conformance {
  facts: Fact[];
  /** Passing tests by the id that they cite, facts and decisions alike; sorted. */
  proofs: Map<string, string[]>;
  /** A sentence for each mismatch. */
  problems: string[];
}

const FACTS = "test/spec-lines.tsv";
const PENDING = "test/conformance-pending.txt";
const LAST_DECISION = 61;
/** Decisions whose features don't exist yet. */
const UNBUILT = new Set(["D52", "D53", "D54", "D55", "D60"]);
/** The decisions that titles cite as `[D<number>]`. */
const DECISIONS = Array.from({ length: LAST_DECISION }, (_, index) => `D${index + 1}`).filter((id) => !UNBUILT.has(id));
/** A test that cites more facts proves none of them well. */
const MOST_CITED = 4;
const CITATION = /\[((?:[SD][\w.]+)(?:\s*,\s*[SD][\w.]+)*)\]/g;

/** The numbered facts of the specification. */
export function readFacts(): Fact[] {
  const lines = readFileSync(FACTS, "utf8").split("\n").slice(1).filter(Boolean);
  return lines.map((line) => {
    const tab = line.indexOf("\t");
    return { id: line.slice(0, tab), text: line.slice(tab + 1) };
  });
}

/** Ids on the committed list of facts that no test proves yet (`#` starts a comment). */
export function readPending(): string[] {
  if (!existsSync(PENDING)) return [];
  const lines = readFileSync(PENDING, "utf8").split("\n");
  return lines.map((line) => (line.split("#")[0] ?? "").trim()).filter(Boolean);
}

/** The ids that a title cites: `[S3.2.04]`, `[S3.2.04, D16]`. */
export function citedIds(title: string): string[] {
  return [...title.matchAll(CITATION)].flatMap((match) => (match[1] ?? "").split(",").map((id) => id.trim()));
}

/**
 * Compares test results with the facts and decisions. A passing test must cite each decision. A fact may also be
 * pending. Files that `npm test` leaves to the night prove nothing here.
 */
export function conformance(results: TestResult[]): Conformance {
  const facts = readFacts();
  const known = new Set([...facts.map((fact) => fact.id), ...DECISIONS]);
  const proofs = new Map<string, string[]>();
  const problems: string[] = [];
  for (const result of results) {
    const cited = citedIds(result.title);
    if (cited.length > MOST_CITED) {
      problems.push(`${result.file}: "${result.title}" cites ${cited.length} ids; ${MOST_CITED} at most.`);
    }
    for (const id of cited) {
      if (!known.has(id)) problems.push(`${result.file}: "${result.title}" cites ${id}, which does not exist.`);
      else if (result.status === "passed" && !isNightFile(result.file)) {
        proofs.set(id, [...(proofs.get(id) ?? []), `${result.file}: ${result.title}`]);
      }
    }
  }
  for (const tests of proofs.values()) tests.sort();
  const pending = readPending();
  for (const id of pending) {
    if (!known.has(id)) problems.push(`${PENDING} names ${id}, which does not exist.`);
    else if (proofs.has(id))
      problems.push(`${PENDING} names ${id}, but a passing test proves it: remove it from the list.`);
  }
  const waiting = new Set(pending);
  for (const fact of facts) {
    if (!proofs.has(fact.id) && !waiting.has(fact.id)) {
      problems.push(`${fact.id} is proven by no passing test and is not on ${PENDING}: ${fact.text}`);
    }
  }
  for (const id of DECISIONS) {
    if (!proofs.has(id)) problems.push(`The decision ${id} is proven by no passing test.`);
  }
  return { facts, proofs, problems };
}

/** The page docs/inside/conformance.md: every fact with the tests that prove it, then the decisions. */
export function conformancePage({ facts, proofs }: Conformance): string {
  const proven = facts.filter((fact) => proofs.has(fact.id)).length;
  const cell = (text: string): string => text.replaceAll("|", "\\|");
  const testsOf = (id: string): string => {
    const tests = (proofs.get(id) ?? []).map((test) => cell(test)).join("<br>");
    return tests === "" ? "pending" : tests;
  };
  return [
    "# Conformance",
    "",
    "Written by `npm run conformance` from the results of the last `npm test`. Every fact of the specification",
    "(`test/spec-lines.tsv`) with the passing tests that cite it; a fact that no test proves yet is on",
    "`test/conformance-pending.txt`.",
    "",
    `${proven} of ${facts.length} facts are proven.`,
    "",
    "| id | fact | tests |",
    "|---|---|---|",
    ...facts.map((fact) => `| ${fact.id} | ${cell(fact.text)} | ${testsOf(fact.id)} |`),
    "",
    "## Decisions",
    "",
    "| decision | tests |",
    "|---|---|",
    ...DECISIONS.map((id) => `| ${id} | ${testsOf(id)} |`),
    "",
  ].join("\n");
}

/** Names what a page lacks and what it has too much, three of each at most; undefined if it is fresh. */
export function staleness(page: string, fresh: string): string | undefined {
  if (page === fresh) return undefined;
  const entries = (text: string): Set<string> => new Set(text.split(/<br>| \| |\n/));
  const beyond = (one: string, other: string): string => {
    const extra = [...entries(one).difference(entries(other))];
    const named = extra.slice(0, 3).map((entry) => `"${entry.trim()}"`);
    return extra.length > 3 ? `${named.join(", ")} and ${extra.length - 3} more` : named.join(", ") || "nothing";
  };
  return `lacks ${beyond(fresh, page)}; has ${beyond(page, fresh)} too much`;
}
