import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** Work that a bench gives to a process, and the answer to it. */
interface Task {
  id: number;
  name: string;
  value: unknown;
}
interface Answer {
  id: number;
  answer: unknown;
}

/** Milliseconds since 1970, finer than `Date.now()`. The same for all processes of the machine. */
export const now = (): number => performance.timeOrigin + performance.now();

/** A process that takes the place of clients or receivers, so that their work doesn't delay what the bench measures. */
export class BenchProcess {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #exited: Promise<unknown>;
  #tasks = 0;

  /** @param name a file of `processes/` without its ending */
  constructor(name: string) {
    this.#child = fork(join("test", "bench", "events", "processes", `${name}.ts`), { serialization: "advanced" });
    this.#exited = once(this.#child, "exit");
    this.#child.on("message", ({ id, answer }: Answer) => {
      this.#waiting.get(id)?.resolve(answer);
      this.#waiting.delete(id);
    });
    this.#child.once("exit", (code) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`${name} ended with code ${String(code)}`));
    });
  }

  /** Gives it a task and waits for the answer. */
  ask<T>(name: string, value?: unknown): Promise<T> {
    this.#tasks += 1;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(this.#tasks, waiting);
    this.#child.send({ id: this.#tasks, name, value } satisfies Task);
    return waiting.promise as Promise<T>;
  }

  async stop(): Promise<void> {
    this.#child.disconnect();
    await this.#exited;
  }
}

/** The other end: answers the tasks of the process that started this one, and ends with it. */
export function answerTasks(tasks: Readonly<Record<string, (value: never) => unknown>>): void {
  process.on("message", ({ id, name, value }: Task) => {
    void Promise.resolve(tasks[name]?.(value as never)).then((answer) => process.send?.({ id, answer }));
  });
  process.once("disconnect", () => process.exit(0));
}
