import { assert } from "chai";

import { TaskLimitError } from "../../../api/features/criteria/limited-thread.ts";
import { EvaluationTurns, QueueFullError } from "../../../api/features/criteria/turns.ts";
import type { Step } from "../../../api/features/criteria/turns.ts";

/** What the threads ran, in order. */
interface Ran {
  /** 0 is the first thread, 1 the one for slow lanes. */
  thread: number;
  task: string;
}

/** Tasks that exceed their limits, and tasks that take 600 ms of a turn of 1,000 ms. */
const TRAP = "trap";
const SLOW = "slow";
/** Steps of the given tasks. A task that exceeds its limits doesn't end the request. */
const stepsOf = (...tasks: string[]): Step[] =>
  tasks.map((task) => async (run) => {
    await run(task).catch((error: unknown) => {
      if (!(error instanceof TaskLimitError)) throw error;
    });
  });

describe("turns", () => {
  let ran: Ran[];
  /** Time by the clock of the turns, in milliseconds. */
  let time: number;
  let turns: EvaluationTurns;

  beforeEach(() => {
    ran = [];
    time = 0;
    let threads = 0;
    const startThread = () => {
      const thread = threads;
      threads += 1;
      return {
        run(task: unknown): Promise<unknown> {
          ran.push({ thread, task: String(task) });
          if (String(task).startsWith(SLOW)) time += 600;
          return String(task).startsWith(TRAP) ? Promise.reject(new TaskLimitError("too long")) : Promise.resolve(task);
        },
        close: () => Promise.resolve(),
      };
    };
    turns = new EvaluationTurns(startThread, () => time);
  });

  const ranBy = (wanted: number) => ran.filter(({ thread }) => thread === wanted).map(({ task }) => task);

  it("run all steps of a request one after the other", async () => {
    await Promise.all([turns.run("a", stepsOf("a1", "a2", "a3")), turns.run("b", stepsOf("b1", "b2"))]);
    assert.deepEqual(ranBy(0), ["a1", "a2", "a3", "b1", "b2"]);
    assert.lengthOf(ran, 5);
  });

  it("move a lane to the second thread once a task of it exceeds its limits", async () => {
    await Promise.all([
      turns.run("a", stepsOf("trap 1", "a2", "trap 3")),
      turns.run("a", stepsOf("a4")),
      turns.run("b", stepsOf("b1")),
    ]);
    await turns.run("a", stepsOf("a5"));
    await turns.run("b", stepsOf("b2"));
    assert.deepEqual(ranBy(0), ["trap 1", "b1", "b2"]);
    assert.sameMembers(ranBy(1), ["a2", "trap 3", "a4", "a5"]);
  });

  it("end a second after their first step even if no task exceeds its limits", async () => {
    const many = stepsOf("slow 1", "slow 2", "slow 3", "slow 4", "a5");
    await Promise.all([turns.run("a", many), turns.run("b", stepsOf("slow b1", "slow b2"))]);
    assert.deepEqual(ranBy(0), ["slow 1", "slow 2", "slow 3", "slow b1", "slow b2"]);
    assert.deepEqual(ranBy(1), ["slow 4", "a5"]);
  });

  it("move a lane back after ten minutes without another long turn", async () => {
    await turns.run("a", stepsOf("trap 1"));
    await turns.run("b", stepsOf("b1"));
    time += 599_000;
    await turns.run("a", stepsOf("a2"));
    time += 1_001;
    await turns.run("a", stepsOf("a3"));
    assert.deepEqual(ranBy(0), ["trap 1", "b1", "a3"]);
    assert.deepEqual(ranBy(1), ["a2"]);
  });

  it("refuse more requests of a lane than may wait", async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const held = turns.run("a", [() => promise]);
    const waiting = Array.from({ length: 8 }, (_, index) => turns.run("a", stepsOf(`a${index}`)));
    await assert.isRejected(turns.run("a", stepsOf("one too many")), QueueFullError);
    resolve(undefined);
    await Promise.all([held, ...waiting]);
    assert.lengthOf(ran, 8);
  });

  it("refuse newer requests rather than one that they have taken, while it moves to the second thread", async () => {
    const [moved, own, neighbours] = [1, 2, 3].map(() => Promise.withResolvers<undefined>());
    const first = turns.run("a", [
      ...stepsOf("trap"),
      () => {
        moved?.resolve(undefined);
        return own?.promise ?? Promise.resolve();
      },
      ...stepsOf("first"),
    ]);
    const names = Array.from({ length: 8 }, (_, index) => `a${index}`);
    const taken = names.map((name) => turns.run("a", stepsOf(name)));
    const other = turns.run("b", [() => neighbours?.promise ?? Promise.resolve()]);
    // Now the first request holds the second thread and its neighbour the first one, so the eight haven't moved yet.
    await moved?.promise;
    const newer = names.map((name) => turns.run("a", stepsOf(`newer ${name}`)));
    const refused = newer.map((request) => assert.isRejected(request, QueueFullError));
    neighbours?.resolve(undefined);
    own?.resolve(undefined);
    await Promise.all([first, other, ...taken, ...refused]);
    assert.deepEqual(ranBy(1), ["first", ...names]);
  });

  it("end a request whose step fails, and go on with the next one", async () => {
    const failed = turns.run("a", [() => Promise.reject(new RangeError("no")), ...stepsOf("a2")]);
    const next = turns.run("a", stepsOf("a3"));
    await assert.isRejected(failed, RangeError);
    await next;
    assert.deepEqual(ranBy(0), ["a3"]);
  });
});
