import type { TransactionRecord } from "../../../api/features/transactions/model.ts";
import { bytes32, created, moved } from "../../fixtures/follower.ts";
import type { FollowerBench } from "../../fixtures/follower.ts";
import type { Move } from "../../fixtures/fake-indexer.ts";

/** Agents that share the deals, so that no log is everybody's. */
const PAIRS = 100;
/** Checkouts stored at once. */
const AT_ONCE = 1_000;

/** Moves of a deal from its funding to its release. */
export const MOVES_PER_DEAL = 3;

/** Collections that the follower writes for a deal. */
export const WRITTEN = ["transactions", "chain_moves", "agent_events", "outbox_dispatches"] as const;

/** Stores checkouts that wait for their funding, of many agents. */
export async function storeCheckouts(
  bench: FollowerBench,
  count: number,
  terms: Partial<TransactionRecord> = {},
): Promise<TransactionRecord[]> {
  const records: TransactionRecord[] = [];
  while (records.length < count) {
    const size = Math.min(AT_ONCE / PAIRS, Math.ceil((count - records.length) / PAIRS));
    for (let pair = 0; pair < PAIRS; pair += 1) {
      const fields = { ...terms, buyerAgentId: `agt_buyer_${pair}`, sellerAgentId: `agt_seller_${pair}` };
      records.push(...(await bench.checkouts(size, fields)));
    }
  }
  return records.slice(0, count);
}

export const fundingOf = (record: TransactionRecord): Move => created(record);
export const deliveryOf = (record: TransactionRecord): Move =>
  moved(record, "DeliverySubmitted", { proofHash: bytes32() });
export const releaseOf = (record: TransactionRecord): Move => moved(record, "EscrowReleased");
