import type { Provider } from "ethers";

import { hasCode } from "../system/code.ts";
import type { Deployment } from "../system/deployment-file.ts";
import { listFacts } from "./facts.ts";

/** One fact that differs between the file and the chain. */
export interface Difference {
  fact: string;
  expected: string;
  actual: string;
  /** Updates the file from the chain; only for facts that may change lawfully after a deployment. */
  record?: () => void;
}

/** True when all three proxies of a deployment have code. */
export async function stands(provider: Provider, deployment: Deployment): Promise<boolean> {
  const { escrow, score, resolver } = deployment.contracts;
  const found = await Promise.all([escrow, score, resolver].map(({ proxy }) => hasCode(provider, proxy)));
  return found.every(Boolean);
}

/** Reads every fact of a deployment file from the chain and returns the differences. */
export async function findDifferences(provider: Provider, deployment: Deployment): Promise<Difference[]> {
  const differences: Difference[] = [];
  for (const { fact, expected, read, record } of listFacts(provider, deployment)) {
    const found = await read().then(
      (value) => ({ actual: String(value), readable: true }),
      (error: unknown) => ({ actual: `not to be read (${refusalOf(error)})`, readable: false }),
    );
    const { actual, readable } = found;
    if (String(expected) === actual) continue;
    const difference = { fact, expected: String(expected), actual };
    differences.push(record && readable ? { ...difference, record: record.bind(undefined, actual) } : difference);
  }
  return differences;
}

/** The differences as readable lines. */
export function describeDifferences(differences: readonly Difference[]): string {
  return differences.map(({ fact, expected, actual }) => `  ${fact}: ${actual}, expected ${expected}`).join("\n");
}

/** Why a contract, or an address without code, did not answer a call. Rethrows errors of the node itself. */
export function refusalOf(error: unknown): string {
  const { code, data, shortMessage, message } = error as Record<"code" | "data" | "shortMessage" | "message", unknown>;
  if (code !== "CALL_EXCEPTION" && code !== "BAD_DATA" && typeof data !== "string") throw error;
  return String(shortMessage ?? message);
}
