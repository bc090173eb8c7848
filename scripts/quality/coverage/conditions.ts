// Makes both outcomes of every condition visible to a coverage tool that counts lines.
import { createRequire } from "node:module";
import { posix } from "node:path";

const require = createRequire(import.meta.url);
const solc = require("solc") as { compile: (input: string) => string };

/** An innermost operand of an `if`, `?:`, `for`, `while`, `&&` or `||`. */
export interface Condition {
  /** Path from the project's root. */
  file: string;
  line: number;
  /** The source text. */
  text: string;
  /** Lines of the generated file that run when it is true and when it is false. */
  lines: { whenTrue: number; whenFalse: number };
}

/** Sources whose conditions are wrapped in named functions, and the functions. */
export interface Marked {
  /** Path → source, with unchanged line numbers. */
  sources: Map<string, string>;
  /** The generated file's source. */
  generated: string;
  conditions: Condition[];
}

/** The used fields of a node of solc's syntax tree. */
interface Node {
  nodeType: string;
  /** start:length:file, in bytes */
  src: string;
  operator?: string;
  condition?: Node;
  leftExpression?: Node;
  rightExpression?: Node;
  subExpression?: Node;
  components?: Node[];
}

const LOGICAL = new Set(["&&", "||"]);
const LINES_PER_FUNCTION = 6;
const HEADER = ["// SPDX-License-Identifier: MIT", "pragma solidity 0.8.37;", ""];

/**
 * Wraps every condition of `sources` (path → source) in a function of its own in `generatedFile`, which has one line
 * for each outcome. `read` gives the sources that they import.
 */
export function markConditions(
  sources: ReadonlyMap<string, string>,
  generatedFile: string,
  read: (path: string) => string,
): Marked {
  const trees = parse(sources, read);
  const conditions: Condition[] = [];
  const functions: string[] = [];
  const marked = new Map<string, string>();
  for (const [file, source] of sources) {
    const bytes = Buffer.from(source);
    const names: string[] = [];
    const edits: { at: number; text: string }[] = [];
    for (const leaf of collectLeaves(trees[file])) {
      const [start = 0, length = 0] = leaf.split(":").map(Number);
      const name = `condition${conditions.length}`;
      const first = HEADER.length + conditions.length * LINES_PER_FUNCTION + 1;
      names.push(name);
      functions.push(
        `function ${name}(bool holds) pure returns (bool) {`,
        "    if (holds) {",
        "        return true;",
        "    }",
        "    return false;",
        "}",
      );
      conditions.push({
        file,
        line: bytes.subarray(0, start).toString().split("\n").length,
        text: bytes
          .subarray(start, start + length)
          .toString()
          .replace(/\s+/g, " "),
        lines: { whenTrue: first + 2, whenFalse: first + 4 },
      });
      edits.push({ at: start, text: `${name}(` }, { at: start + length, text: ")" });
    }
    marked.set(file, withImport(withEdits(bytes, edits), names, posix.relative(posix.dirname(file), generatedFile)));
  }
  return { sources: marked, generated: [...HEADER, ...functions, ""].join("\n"), conditions };
}

function parse(sources: ReadonlyMap<string, string>, read: (path: string) => string): Record<string, unknown> {
  const contents = new Map(sources);
  for (;;) {
    const output = JSON.parse(
      solc.compile(
        JSON.stringify({
          language: "Solidity",
          sources: Object.fromEntries([...contents].map(([path, content]) => [path, { content }])),
          settings: { evmVersion: "prague", outputSelection: { "*": { "": ["ast"] } } },
        }),
      ),
    ) as { sources?: Record<string, { ast: unknown }>; errors?: { severity: string; message: string }[] };
    const errors = (output.errors ?? []).filter(({ severity }) => severity === "error");
    const missing = errors.flatMap(({ message }) => /^Source "([^"]+)" not found/.exec(message)?.[1] ?? []);
    if (errors.length > missing.length) throw new Error(errors.map(({ message }) => message).join("\n"));
    if (missing.length === 0) {
      return Object.fromEntries(Object.entries(output.sources ?? {}).map(([path, { ast }]) => [path, ast]));
    }
    for (const path of missing) contents.set(path, read(path));
  }
}

/** Places (start:length:file) of the conditions in a tree, each once, in the order of the source. */
function collectLeaves(tree: unknown): string[] {
  const leaves = new Set<string>();
  const mark = (node: Node): void => {
    if (node.nodeType === "TupleExpression" && node.components?.length === 1 && node.components[0]) {
      mark(node.components[0]);
    } else if (node.nodeType === "UnaryOperation" && node.operator === "!" && node.subExpression) {
      mark(node.subExpression);
    } else if (!isLogical(node)) {
      leaves.add(node.src);
    }
  };
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const node = value as Node;
    if (node.condition) mark(node.condition);
    if (isLogical(node) && node.leftExpression && node.rightExpression) {
      mark(node.leftExpression);
      mark(node.rightExpression);
    }
    Object.values(value).forEach(visit);
  };
  visit(tree);
  return [...leaves].sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
}

function isLogical(node: Node): boolean {
  return node.nodeType === "BinaryOperation" && LOGICAL.has(node.operator ?? "");
}

function withEdits(bytes: Buffer, edits: { at: number; text: string }[]): string {
  const parts: string[] = [];
  let from = 0;
  for (const { at, text } of [...edits].sort((a, b) => a.at - b.at)) {
    parts.push(bytes.subarray(from, at).toString(), text);
    from = at;
  }
  return [...parts, bytes.subarray(from).toString()].join("");
}

/** The import shares the pragma's line, so that no line moves. */
function withImport(source: string, names: string[], path: string): string {
  if (names.length === 0) return source;
  const from = path.startsWith(".") ? path : `./${path}`;
  return source.replace(/^pragma solidity [^;]+;/m, `$& import {${names.join(", ")}} from "${from}";`);
}
