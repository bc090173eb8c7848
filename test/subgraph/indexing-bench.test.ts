import { readFileSync } from "node:fs";
import { join } from "node:path";

import { assert } from "chai";

import { SUBGRAPH_SOURCES } from "../../scripts/local/paths.ts";
import { floorMappings, FLOORS } from "../bench/indexing/floor-subgraphs.ts";
import { readPlans } from "../bench/indexing/plans.ts";

describe("the floors of bench:indexing", () => {
  const manifest = readFileSync(join(SUBGRAPH_SOURCES, "subgraph.template.yaml"), "utf8");
  const namesIn = (text: string) => [...text.matchAll(/^export function (\w+)\(/gm)].map(([, name]) => name).sort();

  for (const floor of FLOORS) {
    const mappings = floorMappings(manifest, floor);

    for (const [path, source] of mappings) {
      it(`${floor}: ${path} has each handler of the real one`, () => {
        assert.deepEqual(namesIn(source), namesIn(readFileSync(join(SUBGRAPH_SOURCES, path), "utf8")));
      });
    }

    it(`${floor}: replaces the mappings of all three contracts`, () => {
      const paths = ["escrow", "score", "resolver"].map((name) => `./src/mappings/${name}.ts`);
      assert.deepEqual([...mappings.keys()], paths);
    });
  }

  it("the empty one does nothing, and the other one stores a row in each handler", () => {
    for (const source of floorMappings(manifest, "empty").values()) assert.notMatch(source, /\{[^}\s][^}]*\}$/m);
    for (const source of floorMappings(manifest, "row").values()) {
      assert.lengthOf([...source.matchAll(/\n {2}store\(event\);\n/g)], namesIn(source).length);
    }
  });
});

describe("the plans that bench:indexing reads from Postgres' log", () => {
  const plan = (statement: string, node: object) => {
    const text = JSON.stringify({ "Query Text": statement, Plan: node }, undefined, 2).replaceAll(/^/gm, "\t");
    return `2026-11-23 09:00:00 UTC [7] LOG:  duration: 0.125 ms  plan:\n${text}\n`;
  };
  const index = { "Node Type": "Index Scan", "Relation Name": "escrow", "Index Name": "escrow_id" };
  const scan = { "Node Type": "Seq Scan", "Relation Name": "agent" };

  it("name the indexes of all nodes, and the tables that are read as a whole", () => {
    const log = plan("select 1", {
      "Node Type": "Nested Loop",
      Plans: [{ "Node Type": "Sort", Plans: [scan] }, index],
    });
    assert.deepEqual(readPlans(log), [{ statement: "select 1", indexes: ["escrow_id"], scanned: ["agent"] }]);
  });

  it("are one for each statement, and other lines aren't among them", () => {
    const noise = "2026-11-23 09:00:01 UTC [7] LOG:  checkpoint starting: time\n";
    const parallel = { "Node Type": "Parallel Seq Scan", "Relation Name": "agent" };
    const plans = readPlans(plan("select 1", index) + noise + plan("select 2", parallel));
    assert.deepEqual(
      plans.map(({ statement, indexes, scanned }) => [statement, indexes, scanned]),
      [
        ["select 1", ["escrow_id"], []],
        ["select 2", [], ["agent"]],
      ],
    );
  });
});
