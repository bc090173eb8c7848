import { setTimeout as sleep } from "node:timers/promises";

import type { Hex } from "viem";

/** An escrow in the subgraph. Amounts are token units in decimal digits. */
export interface IndexedEscrow {
  state: string;
  seller: { id: string };
  token: { id: string };
  locked: string;
  criteriaHash: Hex;
  proofHash: Hex | null;
  buyerAmount: string;
  sellerAmount: string;
}

const QUERY = `query ($escrow: ID!, $buyer: ID!, $seller: ID!) {
  escrow(id: $escrow) {
    state seller { id } token { id } locked criteriaHash proofHash buyerAmount sellerAmount
  }
  buyer: agent(id: $buyer) { score }
  seller: agent(id: $seller) { score }
}`;

/** An escrow and the scores of its parties, read at one block. */
export interface Indexed {
  escrow: IndexedEscrow | null;
  scores: { buyer: number; seller: number };
}

interface Answer {
  data?: {
    escrow: IndexedEscrow | null;
    buyer: { score: string } | null;
    seller: { score: string } | null;
  };
  errors?: { message: string }[];
}

const REQUEST_TIMEOUT_MS = 10_000;
const INDEXED_TIMEOUT_MS = 120_000;
const POLL_MS = 100;

/** Reads an escrow from the subgraph at `url`. */
export async function readIndexed(url: string, ids: { escrow: Hex; buyer: Hex; seller: Hex }): Promise<Indexed> {
  const variables = Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, id.toLowerCase()]));
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: QUERY, variables }),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  const { data, errors } = (await response.json()) as Answer;
  if (data === undefined) throw new Error(`the subgraph answered: ${errors?.[0]?.message ?? String(response.status)}`);
  return {
    escrow: data.escrow,
    scores: { buyer: Number(data.buyer?.score ?? 0), seller: Number(data.seller?.score ?? 0) },
  };
}

/** Waits until the subgraph shows an escrow in a state. */
export async function untilIndexed(
  url: string,
  ids: { escrow: Hex; buyer: Hex; seller: Hex },
  state: string,
): Promise<Indexed & { escrow: IndexedEscrow }> {
  const givenUpAt = performance.now() + INDEXED_TIMEOUT_MS;
  for (;;) {
    const { escrow, scores } = await readIndexed(url, ids);
    if (escrow?.state === state) return { escrow, scores };
    if (performance.now() > givenUpAt) {
      throw new Error(
        `after ${INDEXED_TIMEOUT_MS / 1000} s the subgraph has ${escrow?.state ?? "no escrow"}, not ${state}`,
      );
    }
    await sleep(POLL_MS);
  }
}
