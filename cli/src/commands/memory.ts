import type { Command } from "commander";

import { heading, stranger, text } from "../output/blocks.ts";
import type { Block } from "../output/blocks.ts";
import { readJson, wholeNumber } from "../options.ts";
import type { Runtime } from "../runtime.ts";
import { addCommand, beginIntent, does, takesIntent } from "./define.ts";

interface ShownEntry {
  key: string;
  namespace: string;
  value: unknown;
  version: number;
  updatedAt: string;
}

interface SpaceOptions {
  namespace?: string;
}

const NAMESPACE = ["--namespace <name>", "namespace of the key, by default `default`"] as const;

/** Adds `memory` with what it gets, searches and sets. */
export function addMemory(program: Command, runtime: Runtime): void {
  const memory = program.command("memory").description("keep values for 90 days, readable by you alone");

  const get = addCommand(memory, "get <key>", "read what is kept under a key").option(...NAMESPACE);
  does<SpaceOptions>(get, runtime, async (session, { namespace }, key) => {
    const data = await session.call("recall", { key, namespace }, { progress: "Reading" });
    session.output.result(data, () => entriesOf(data).flatMap(entryBlocks));
    return undefined;
  });

  const search = addCommand(memory, "search <query>", "find what is kept by meaning, best first")
    .option(...NAMESPACE)
    .option("--limit <n>", "at most so many, 1 to 50", wholeNumber(1, 50));
  does<SpaceOptions & { limit?: number }>(search, runtime, async (session, { namespace, limit }, query) => {
    const data = await session.call("recall", { query, namespace, limit }, { progress: "Searching" });
    const found = entriesOf(data);
    session.output.result(data, () => (found.length === 0 ? [text("Nothing found.")] : found.flatMap(entryBlocks)));
    return undefined;
  });

  const set = takesIntent(addCommand(memory, "set <key>", "keep a value; the same key is overwritten"))
    .option(...NAMESPACE)
    .option("--text <text>", "a text to keep")
    .option("--input <file>", "file with any JSON to keep, - for standard input");
  interface SetOptions extends SpaceOptions {
    text?: string;
    input?: string;
    intent?: string;
  }
  does<SetOptions>(set, runtime, async (session, options, key) => {
    if ((options.text === undefined) === (options.input === undefined)) set.error("error: give --text or --input");
    const value = options.text ?? (await readJson("--input", options.input ?? "", runtime.stdin));
    const intentId = beginIntent(session, options);
    const input = { intentId, key, value, namespace: options.namespace };
    const data = await session.call("remember", input, { progress: "Writing" });
    session.output.result(data, () => [text(`Kept ${key}, version ${String(data["version"])}.`)]);
    return undefined;
  });
}

const entriesOf = (data: Record<string, unknown>): ShownEntry[] =>
  (data as unknown as { entries: ShownEntry[] }).entries;

const entryBlocks = ({ key, namespace, value, version, updatedAt }: ShownEntry): Block[] => [
  heading(key),
  text(`namespace ${namespace} · version ${version} · ${updatedAt}`),
  ...stranger("value", value),
];
