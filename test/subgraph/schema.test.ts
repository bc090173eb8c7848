import { readFileSync } from "node:fs";
import { join } from "node:path";

import { assert } from "chai";
import { toEventSelector } from "viem";

import { CONTRACTS, SUBGRAPH_SOURCES } from "../../scripts/local/paths.ts";
import { readSchema } from "../../scripts/local/subgraph-build.ts";

interface AbiEvent {
  readonly type: string;
  readonly name: string;
  readonly inputs: readonly { readonly type: string; readonly indexed: boolean }[];
}
interface DataSource {
  readonly name: string;
  readonly file: string;
  /** Signatures as the manifest writes them. */
  readonly events: readonly string[];
  readonly handlers: readonly string[];
}

function readDataSources(): readonly DataSource[] {
  const manifest = readFileSync(join(SUBGRAPH_SOURCES, "subgraph.template.yaml"), "utf8");
  const all = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, found = ""]) => found);
  return manifest
    .split("  - kind: ethereum\n")
    .slice(1)
    .map((text) => ({
      name: /^ {4}name: (\w+)$/m.exec(text)?.[1] ?? "",
      file: /^ {6}file: (\S+)$/m.exec(text)?.[1] ?? "",
      events: all(text, /^ {8}- event: (.+)$/gm),
      handlers: all(text, /^ {10}handler: (\w+)$/gm),
    }));
}

/** The events that a contract can emit, those of its base contracts included, in the manifest's writing. */
function readEvents(contract: string): readonly string[] {
  const path = join(CONTRACTS.artifacts, "contracts", `${contract}.sol`, `${contract}.json`);
  const { abi } = JSON.parse(readFileSync(path, "utf8")) as { abi: readonly AbiEvent[] };
  return abi
    .filter(({ type }) => type === "event")
    .map(({ name, inputs }) => {
      return `${name}(${inputs.map(({ type, indexed }) => `${indexed ? "indexed " : ""}${type}`).join(",")})`;
    });
}

describe("the subgraph's manifest and schema", () => {
  const sources = readDataSources();

  it("there is a data source for each of the three contracts", () => {
    assert.deepEqual(
      sources.map(({ name }) => name),
      ["EscrowV2", "ScoreV2", "ResolverV2"],
    );
  });

  for (const { name, file, events, handlers } of sources) {
    it(`${name}: every event of its ABI has a handler, and every handler an event`, () => {
      assert.sameMembers([...events], [...readEvents(name)]);
      assert.strictEqual(new Set(handlers).size, events.length, "no two events share a handler");
      const exported = [...readFileSync(join(SUBGRAPH_SOURCES, file), "utf8").matchAll(/^export function (\w+)/gm)];
      assert.sameMembers(
        exported.map(([, handler]) => handler),
        [...handlers],
      );
      for (const event of events) assert.match(toEventSelector(event), /^0x[0-9a-f]{64}$/);
    });
  }

  it("every type and every field of the schema has a description", () => {
    const lines = readSchema().split("\n");
    let depth = 0;
    let fields = 0;
    for (const [index, line] of lines.entries()) {
      const before = lines[index - 1] ?? "";
      if (/^(type|enum) /.test(line)) {
        assert.strictEqual(before, '"""', `${line} has no description`);
        depth = line.startsWith("type") ? 1 : 0;
      } else if (depth === 1 && /^ {2}\w+: /.test(line)) {
        assert.match(before, /^ {2}".+"$/, `the field ${line.trim()} has no description`);
        fields += 1;
      } else if (line === "}") depth = 0;
    }
    assert.isAbove(fields, 200);
  });

  it("amounts, times and spans say their unit", () => {
    const UNIT = /USD with 6 decimals|token units|Token units|unix seconds|seconds|microseconds|else 0/;
    const lines = readSchema().split("\n");
    for (const [index, line] of lines.entries()) {
      const field = /^ {2}(\w+): BigInt/.exec(line)?.[1] ?? "";
      if (/(Usd|At|Seconds|Age|deadline|Window|Grace)$/.test(field)) {
        assert.match(lines[index - 1] ?? "", UNIT, `the unit of ${field}`);
      }
    }
  });
});
