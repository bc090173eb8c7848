import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { StackFacts } from "./facts.ts";

const FACTS = join(".local", "stack.json");

/** Sets the variables of the running local marketplace that an operator's command reads and that aren't set. */
export function useLocalStack(): void {
  if (!existsSync(FACTS)) return;
  const { mongodbUri, networks, deployments, accounts } = JSON.parse(readFileSync(FACTS, "utf8")) as StackFacts;
  setDefaults({
    MONGODB_URI: mongodbUri,
    RPC_URL_BASE_SEPOLIA: networks["base-sepolia"]?.rpcUrl,
    RPC_URL_BASE: networks.base?.rpcUrl,
    DEPLOYMENT_BASE_SEPOLIA: deployments["base-sepolia"],
    DEPLOYMENT_BASE: deployments.base,
    REBATE_PAYER_KEY_BASE: accounts.at(-1)?.privateKey,
  });
}

function setDefaults(variables: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(variables)) {
    if (value !== undefined && (process.env[name] ?? "") === "") process.env[name] = value;
  }
}
