import { assert } from "chai";

import { firstWithin } from "../../../api/features/messages/fan-out.ts";
import type { MessageRecord } from "../../../api/features/messages/model.ts";

const ofBytes = (bytes: number) => ({ bodyJson: "x".repeat(bytes) }) as MessageRecord;

describe("a batch of a topic's messages", () => {
  const messages = [60, 30, 20, 1].map(ofBytes);
  const taken = (bytes: number) => firstWithin(messages, bytes).length;

  it("has the first ones whose contents fit", () => {
    assert.deepEqual([taken(1_000), taken(111), taken(110), taken(109), taken(90), taken(89)], [4, 4, 3, 2, 2, 1]);
  });

  it("has at least one, however long that is, and counts bytes", () => {
    assert.deepEqual([taken(59), taken(0)], [1, 1]);
    const wide = ["ä", "b"].map((bodyJson) => ({ bodyJson }) as MessageRecord);
    assert.lengthOf(firstWithin(wide, 2), 1);
    assert.deepEqual(firstWithin([], 10), []);
  });
});
