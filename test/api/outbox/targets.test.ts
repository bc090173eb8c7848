// Which addresses an event is sent to when several registrations name the same one (specification 6, decision 37).
import { assert } from "chai";

import { buildDispatches } from "../../../api/features/outbox/enqueue.ts";
import type { DispatchTarget, OutgoingEvent } from "../../../api/features/outbox/enqueue.ts";

const EVENT: OutgoingEvent = {
  eventId: "evt_1",
  eventType: "delivery.submitted",
  transactionId: "txn_1",
  orderKey: "txn_1",
  seq: 1,
  bodyJson: "{}",
};
const NOW = new Date("2026-01-01T00:00:00Z");
const URL_A = "https://agent.example/hook";
const registered = (webhookId: string, durable: boolean, url = URL_A): DispatchTarget => ({
  agentId: "agt_1",
  url,
  webhook: { webhookId, durable },
});
const direct = (url = URL_A): DispatchTarget => ({ agentId: "agt_1", url });

/** What is put into the outbox, without what all dispatches have. */
const put = (targets: readonly DispatchTarget[], event: Partial<OutgoingEvent> = {}) =>
  buildDispatches({ ...EVENT, ...event }, targets, NOW).map(({ kind, url, webhookId, durable, direct: isDirect }) => ({
    kind,
    url,
    webhookId,
    durable,
    direct: isDirect,
  }));

describe("the targets of an event", () => {
  it("[D37] get it once at an address, however it is spelled", () => {
    for (const spelling of [
      "https://AGENT.example/hook",
      "https://agent.example:443/hook",
      "HTTPS://agent.example/a/../hook",
    ]) {
      assert.deepEqual(put([direct(), direct(spelling)]), [
        { kind: "immediate", url: URL_A, webhookId: null, durable: false, direct: true },
      ]);
    }
    assert.lengthOf(put([direct(), direct("https://agent.example/Hook")]), 2, "a path has its case");
    assert.lengthOf(put([direct(), { ...direct(), agentId: "agt_2" }]), 2, "another agent has its own");
  });

  it("[D37] get it for the durable registration, in whatever order they come", () => {
    const plain = registered("whk_plain", false);
    const durable = registered("whk_durable", true);
    const other = registered("whk_other", true);
    const kind = "immediate" as const;
    const expected = { kind, url: URL_A, webhookId: "whk_durable", durable: true, direct: false };
    assert.deepEqual(put([plain, durable]), [expected]);
    assert.deepEqual(put([durable, plain]), [expected]);
    assert.deepEqual(put([durable, other]), [expected], "the first durable one");
    assert.deepEqual(put([plain, registered("whk_second", false)]), [
      { ...expected, webhookId: "whk_plain", durable: false },
    ]);
  });

  it("[S6.39] [D37] get a backup of escrow.funded for the address of a listing, even if a registration is durable", () => {
    const funded = { eventType: "escrow.funded" };
    const kinds = (targets: readonly DispatchTarget[]) => put(targets, funded).map(({ kind }) => kind);
    assert.deepEqual(kinds([registered("whk_1", true)]), ["immediate"]);
    assert.deepEqual(kinds([registered("whk_1", false)]), ["immediate", "backup"]);
    assert.deepEqual(put([direct(), registered("whk_1", true)], funded), [
      { kind: "immediate", url: URL_A, webhookId: "whk_1", durable: true, direct: true },
      { kind: "backup", url: URL_A, webhookId: "whk_1", durable: false, direct: true },
    ]);
    assert.lengthOf(put([direct()]), 1, "other events have none");
  });
});
