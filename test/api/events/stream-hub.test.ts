// A hub alone, with an agent's log that grows while a stream is being added.
import { assert } from "chai";

import { accessModels } from "../../../api/features/limits/access-model.ts";
import { createKeyStates } from "../../../api/features/identity/key-states.ts";
import { EventStream } from "../../../api/features/events/event-stream.ts";
import type { LogPosition } from "../../../api/features/events/log.ts";
import { EventLog } from "../../../api/features/events/log.ts";
import { eventModels } from "../../../api/features/events/model.ts";
import { StreamHub, STREAM_TIMINGS } from "../../../api/features/events/stream-hub.ts";
import { StreamSlots, streamSlotsModel } from "../../../api/features/events/stream-slots.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { announce } from "../../fixtures/event-stream.ts";
import { until } from "../../fixtures/until.ts";

const logger = createLogger({ level: "silent", name: "test" });

describe("a stream hub", () => {
  let api: TestApi;
  let agent: TestAgent;
  let keyId: string;
  let stop: AbortController;

  before(async () => {
    api = await startTestApi();
    agent = await api.registerAgent();
    const { access } = accessModels(api.container.connection);
    const record = await access.findById(agent.agentId).lean();
    keyId = record?.keys[0]?.id ?? "";
    stop = new AbortController();
  });
  after(async () => {
    stop.abort();
    await api.close();
  });

  it("[D25] reads the log first if an event arrives that isn't a new stream's next one", async () => {
    const { connection } = api.container;
    const models = eventModels(connection);
    const log = new EventLog(models.events, models.lengths);
    const gate = Promise.withResolvers<undefined>();
    let reads = 0;
    let isFollowing = false;
    const hub = new StreamHub({
      connection,
      events: models.events,
      timings: STREAM_TIMINGS,
      shutdown: stop.signal,
      logger,
      // The second stream learns where the log ends only after it has been announced another event.
      log: {
        after: (...wanted) => log.after(...wanted),
        async end(agentId) {
          reads += 1;
          if (reads === 2) await gate.promise;
          return log.end(agentId);
        },
        // Read once the change stream is open.
        async lengths(agentIds) {
          const lengths = await log.lengths(agentIds);
          isFollowing = true;
          return lengths;
        },
      },
      slots: new StreamSlots({
        slots: streamSlotsModel(connection),
        perAgent: 5,
        leaseMs: 30_000,
        now: () => new Date(),
      }),
      keys: createKeyStates(accessModels(connection), () => 0),
    });
    const open = (id: string, start: LogPosition) =>
      new EventStream({
        id,
        agentId: agent.agentId,
        keyId,
        filter: {},
        start,
        onDemand: (stream) => {
          hub.resume(stream);
        },
        onClose: (stream) => {
          hub.remove(stream);
        },
      });
    for (const name of ["a", "b"]) await announce(api.container, name, [agent.agentId]);

    const current = open("current", await log.end(agent.agentId));
    assert.isTrue(await hub.add(current));
    // Otherwise it would read the third event from the log, and never be announced it.
    await until("the hub follows the log", () => Promise.resolve(isFollowing));
    const late = open("late", { seq: 0, eventId: "start" });
    const added = hub.add(late);
    await announce(api.container, "c", [agent.agentId]);
    await until("the hub has heard of the third event", () => Promise.resolve(current.position === 3));
    gate.resolve(undefined);
    assert.isTrue(await added);
    await until("the late stream has everything", () => Promise.resolve(late.position === 3));

    assert.deepEqual([namesIn(current), namesIn(late)], [["c"], ["a", "b", "c"]]);
  });

  /** Names of the events whose frames wait in a stream. */
  function namesIn({ body }: EventStream): string[] {
    return [...String(body.read()).matchAll(/"name":"(\w)"/g)].map(([, name = ""]) => name);
  }
});
