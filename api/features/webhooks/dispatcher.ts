import { setTimeout as sleep } from "node:timers/promises";

import { toUnixSeconds } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { DeliveryRecord } from "./model.ts";
import type { Outbox } from "./outbox.ts";
import type { WebhookSecrets } from "./secrets.ts";
import type { WebhookSender } from "./sender.ts";

/** Settings and collaborators of the dispatcher. */
export interface DispatcherOptions {
  outbox: Outbox;
  sender: WebhookSender;
  secrets: WebhookSecrets;
  log: Logger;
  now: () => Date;
  /** Names this worker in leases. */
  owner: string;
  /** Pause between two looks at an empty outbox. */
  pollMs: number;
  /** Attempts under way at once. */
  concurrency: number;
  /** Attempts under way at once to one agent's addresses, so that a slow receiver holds up nobody else. */
  concurrencyPerAgent: number;
}

/** Sends what the outbox holds. Several may run at once. */
export interface WebhookDispatcher {
  /** Sends everything that is due now and waits for it. For tests. */
  drain(): Promise<number>;
  /** Ends the present pause: something was put into the outbox. */
  wake(): void;
  /** Sends what becomes due, until the signal; then waits for the attempts under way. */
  run(signal: AbortSignal): Promise<void>;
}

const FAILURE_PAUSE_MS = 1_000;
/** How long a stopping worker waits for the attempts under way. */
const STOP_PATIENCE_MS = 3_000;

/** The worker side of the outbox. */
export function createWebhookDispatcher(options: DispatcherOptions): WebhookDispatcher {
  const { outbox, sender, secrets, log, owner } = options;
  const running = new Set<Promise<void>>();
  const byAgent = new Map<string, number>();
  let wakeUp = new AbortController();

  async function attempt(delivery: DeliveryRecord): Promise<void> {
    const attemptedAt = delivery.attempts.at(-1)?.startedAt ?? options.now();
    // Before the attempt: a worker that dies in it leaves the backup due all the same.
    await outbox.scheduleBackup(delivery, attemptedAt);
    const { secret } = await secrets.stateOf(delivery.agentId);
    const { url, eventId, bodyJson } = delivery;
    const result = await sender.send({ url, eventId, bodyJson, secret, timestamp: toUnixSeconds(options.now()) });
    await outbox.finish(delivery, owner, result);
    log.info({ delivery: delivery._id, event: delivery.eventType, kind: delivery.kind, ...result }, "webhook");
  }

  function begin(delivery: DeliveryRecord): void {
    const { agentId } = delivery;
    byAgent.set(agentId, (byAgent.get(agentId) ?? 0) + 1);
    const work = attempt(delivery)
      .catch((error: unknown) => {
        // The lease ends by itself and the delivery is tried again.
        log.error({ err: error, delivery: delivery._id }, "webhook attempt broke off");
      })
      .finally(() => {
        running.delete(work);
        const left = (byAgent.get(agentId) ?? 1) - 1;
        if (left === 0) byAgent.delete(agentId);
        else byAgent.set(agentId, left);
      });
    running.add(work);
  }

  const busyAgents = (): string[] =>
    [...byAgent].filter(([, count]) => count >= options.concurrencyPerAgent).map(([agentId]) => agentId);

  /** Begins attempts while something is due and there is room. Says how many. */
  async function fill(): Promise<number> {
    let begun = 0;
    while (running.size < options.concurrency) {
      const delivery = await outbox.claim(owner, busyAgents());
      if (delivery === undefined) break;
      begin(delivery);
      begun += 1;
    }
    return begun;
  }

  return {
    async drain() {
      let sent = 0;
      for (let begun = await fill(); begun > 0 || running.size > 0; begun = await fill()) {
        sent += begun;
        await Promise.all(running);
      }
      return sent;
    },

    wake() {
      wakeUp.abort();
    },

    async run(signal) {
      while (!signal.aborted) {
        let pauseMs = options.pollMs;
        // Before the look: what is put in during it ends the pause after it.
        wakeUp = new AbortController();
        try {
          await fill();
          if (running.size >= options.concurrency) await Promise.race(running);
        } catch (error) {
          log.error({ err: error }, "outbox cannot be read");
          pauseMs = FAILURE_PAUSE_MS;
        }
        await sleep(pauseMs, undefined, { signal: AbortSignal.any([signal, wakeUp.signal]) }).catch(() => undefined);
      }
      // What has not ended by then is noted as interrupted by whoever claims it next, and sent again.
      await Promise.race([Promise.all(running), sleep(STOP_PATIENCE_MS, undefined, { ref: false })]);
    },
  };
}
