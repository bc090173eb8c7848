// The order and the pages of timelines whose entries happened at the same moment.
import { assert } from "chai";

import { ENTRY_KINDS, orderOf } from "../../../api/features/timeline/entries.ts";
import type { EntryKind, TimelineEntry } from "../../../api/features/timeline/entries.ts";
import { messageSource, webhookSource } from "../../../api/features/timeline/sources.ts";
import { createTimelines } from "../../../api/features/timeline/timeline.ts";
import type { TimelinePosition } from "../../../api/features/timeline/timeline.ts";
import type { DispatchModel } from "../../../api/features/outbox/model.ts";
import type { Reading } from "../../../api/features/transactions/reader.ts";

const AT = Date.parse("2026-11-20T12:00:00Z");
const READER = "agt_reader";

/** Two moves, audit entries, attempts and messages of one moment, and a message before it. */
function timelines() {
  const entry = (kind: EntryKind, position: number): TimelineEntry =>
    ({ at: AT, kind, title: kind, proof: {}, order: orderOf(position) }) as unknown as TimelineEntry;
  const moves = [1, 2].map(() => ({ type: "EscrowCreated", at: AT / 1_000, txHash: "0x1", blockNumber: 1 }));
  const source = (kind: EntryKind, earlier: TimelineEntry[] = []) => ({
    // In any order.
    readEntries: () => Promise.resolve([entry(kind, 1), ...earlier, entry(kind, 0)]),
  });
  return createTimelines({
    read: () => Promise.resolve({ record: { escrow: { moves } } } as unknown as Reading),
    sources: {
      audit: source("audit"),
      webhook: source("webhook"),
      message: source("message", [{ ...entry("message", 5), at: AT - 1 }]),
    },
  });
}

/** What an entry is called here. */
const named = ({ at, kind, order }: TimelinePosition) => `${at - AT} ${kind} ${Number(order)}`;

describe("a timeline with entries of one moment", () => {
  const EXPECTED = ["-1 message 5", ...ENTRY_KINDS.flatMap((kind) => [`0 ${kind} 0`, `0 ${kind} 1`])];

  it("[D47] lists moves first, then what reports them, each kind in its order", async () => {
    const { entries, next } = await timelines().page(READER, "txn_1", { limit: 100 });
    assert.deepEqual(entries.map(named), EXPECTED);
    assert.isNull(next);
  });

  for (const limit of [1, 2, 3, 4, 8, 9, 10]) {
    it(`[D47] [D23] loses and repeats nothing with pages of ${limit}, and the last page has no cursor`, async () => {
      const pages: string[][] = [];
      let cursor: TimelinePosition | undefined;
      do {
        const { entries, next } = await timelines().page(READER, "txn_1", { limit, cursor });
        pages.push(entries.map(named));
        cursor = next ?? undefined;
      } while (cursor !== undefined && pages.length <= EXPECTED.length);
      assert.deepEqual(pages.flat(), EXPECTED);
      assert.lengthOf(pages, Math.ceil(EXPECTED.length / limit));
    });
  }

  it("[D47] says of a message whether the reader has sent it", async () => {
    const message = (_id: string, fromAgentId: string, toAgentId: string) => ({
      _id,
      fromAgentId,
      toAgentId,
      createdAt: new Date(AT),
    });
    const messages = [message("msg_1", READER, "agt_other"), message("msg_2", "agt_other", READER)];
    const entries = await messageSource(() => Promise.resolve(messages)).readEntries("txn_1", READER);
    assert.deepEqual(
      entries.map(({ order, title }) => [order, title]),
      [
        ["msg_1", "Message to the other party"],
        ["msg_2", "Message from the other party"],
      ],
    );
  });

  it("[D47] counts the attempts at a delivery from 1", async () => {
    const attempts = ["refused", "acknowledged"].map((outcome) => ({
      startedAt: new Date(AT),
      outcome,
      statusCode: 503,
    }));
    const found = [{ _id: "dlv_1", eventId: "evt_1", eventType: "escrow.funded", attempts }];
    const page = { lean: () => Promise.resolve(found) };
    const sorted = { limit: () => page };
    const dispatches = { find: () => ({ sort: () => sorted }) } as unknown as DispatchModel;
    const entries = await webhookSource(dispatches).readEntries("txn_1", READER);
    assert.deepEqual(
      entries.map(({ title, proof }) => [title, (proof as { attempt: number }).attempt]),
      [
        ["Webhook escrow.funded, attempt 1: refused", 1],
        ["Webhook escrow.funded, attempt 2: acknowledged", 2],
      ],
    );
  });
});
