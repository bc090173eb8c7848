/** What Postgres plans to read for one statement. */
export interface StatementPlan {
  statement: string;
  /** Names of the indexes that it uses. */
  indexes: string[];
  /** Names of the tables that it reads from one end to the other. */
  scanned: string[];
}

interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  Plans?: PlanNode[];
}

const LOGGED_PLAN = /plan:\n((?:\t.*\n)+)/g;

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

/** Reads the plans that auto_explain has written to Postgres' log in JSON. */
export function readPlans(log: string): StatementPlan[] {
  return [...log.matchAll(LOGGED_PLAN)].map(([, text = ""]) => {
    const logged = JSON.parse(text.replaceAll(/^\t/gm, "")) as { "Query Text": string; Plan: PlanNode };
    const nodes = nodesOf(logged.Plan);
    const namesOf = (names: (string | undefined)[]) => [...new Set(names.filter((name) => name !== undefined))].sort();
    return {
      statement: logged["Query Text"],
      indexes: namesOf(nodes.map((node) => node["Index Name"])),
      scanned: namesOf(
        nodes.filter((node) => node["Node Type"].endsWith("Seq Scan")).map((node) => node["Relation Name"]),
      ),
    };
  });
}
