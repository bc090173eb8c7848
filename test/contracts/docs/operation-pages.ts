import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";

/** The contracts that the pages describe, by the word that the pages have for them. */
export const CONTRACTS = { escrow: "EscrowV2", score: "ScoreV2", resolver: "ResolverV2" } as const;
export type ContractName = keyof typeof CONTRACTS;
const ALL = Object.keys(CONTRACTS) as ContractName[];

/** A row of a page's table of errors. */
export interface DocumentedError {
  /** Name and parameters' names, as `CallerNotBuyer(caller, buyer)`. */
  signature: string;
  /** What the column "of" says; undefined in tables without one. */
  of: string | undefined;
}

/** One page under docs/operations. */
export interface Page {
  /** Without `.md`. */
  name: string;
  text: string;
  /** Functions of its Solidity blocks, as `withdraw(address token)`, with the contract that the comment above names. */
  functions: { contract: ContractName; signature: string }[];
  /** Rows of its tables of errors, and of those of the pages whose errors it says it has, too. */
  errors: DocumentedError[];
}

/** Every page, by its name. */
export function readPages(): Map<string, Page> {
  const pages = new Map<string, Page>();
  for (const file of globSync("docs/operations/*.md").sort()) {
    const text = readFileSync(file, "utf8");
    const name = basename(file, ".md");
    pages.set(name, { name, text, functions: declaredFunctions(text), errors: errorRows(text) });
  }
  for (const page of pages.values()) {
    const [, taken] = /(?:All of|the errors of) \[\w+\]\((\w+)\.md\)/.exec(section(page.text, "Errors")) ?? [];
    if (taken !== undefined) page.errors.push(...(pages.get(taken)?.errors ?? []));
  }
  return pages;
}

/** The text under a heading of the second level, up to the next one. */
export function section(text: string, heading: string): string {
  const start = text.indexOf(`\n## ${heading}\n`);
  if (start < 0) return "";
  const end = text.indexOf("\n## ", start + 1);
  return text.slice(start, end < 0 ? undefined : end);
}

/** Which contracts a comment or a heading speaks of; the escrow contract when it names none. */
function contractsOf(words: string): ContractName[] {
  if (words.includes("each of the three")) return ALL;
  const named = ALL.filter((contract) => words.includes(`${contract} contract`));
  return named.length > 0 ? named : ["escrow"];
}

function declaredFunctions(text: string): Page["functions"] {
  const found: Page["functions"] = [];
  for (const [, block = ""] of text.matchAll(/```solidity\n(.*?)```/gs)) {
    let contracts = contractsOf("");
    for (const [, comment, name, parameters = ""] of block.matchAll(/\/\/ (.*)|function (\w+)\(([^)]*)\)[^;]*;/g)) {
      if (comment !== undefined) contracts = contractsOf(comment);
      if (name === undefined) continue;
      const list = parameters.split(",").map((parameter) => parameter.trim().replace(/ (?:calldata|memory) /, " "));
      for (const contract of contracts) found.push({ contract, signature: `${name}(${list.join(", ")})` });
    }
  }
  return found;
}

/** Rows of every table whose first column is headed "error". */
function errorRows(text: string): DocumentedError[] {
  const found: DocumentedError[] = [];
  for (const [, head = "", rows = ""] of text.matchAll(/^\| error (.*)\n\|[-|]+\n((?:\|.*\n?)+)/gm)) {
    const hasOf = head.startsWith("| of |");
    for (const row of rows.trim().split("\n")) {
      const [, first = "", second] = row.split(" | ").length > 1 ? ["", ...row.slice(2).split(" | ")] : [];
      const [, signature] = /^`(\w+\(.*\))`$/.exec(first) ?? [];
      if (signature !== undefined) found.push({ signature, of: hasOf ? second : undefined });
    }
  }
  return found;
}

/** The views that docs/operations/views.md explains, as `creditOf(recipient, token)`, by contract. */
export function documentedViews(page: Page): { contract: ContractName; signature: string }[] {
  let contracts = contractsOf("");
  const found: { contract: ContractName; signature: string }[] = [];
  const add = (words: string): void => {
    for (const [signature] of words.matchAll(/\w+\([^)]*\)/g)) {
      for (const contract of contracts) found.push({ contract, signature });
    }
  };
  for (const line of page.text.split("\n")) {
    if (line.startsWith("## ")) {
      contracts = contractsOf(line.toLowerCase());
      add(line);
    } else if (line.startsWith("| `")) {
      add((line.split(" | ")[0] ?? "").replace(/[^`]*`([^`]*)`/g, "$1 "));
    }
  }
  return found;
}
