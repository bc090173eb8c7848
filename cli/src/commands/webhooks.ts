import type { Command } from "commander";

import { collect } from "../../../sdk/src/index.ts";
import type { NewWebhook, RegisteredWebhook } from "../../../sdk/src/index.ts";
import { facts, heading, table, text } from "../output/blocks.ts";
import type { Block } from "../output/blocks.ts";
import { wholeNumber } from "../options.ts";
import type { Runtime } from "../runtime.ts";
import { addCommand, beginIntent, does, takesIntent } from "./define.ts";

/** More than an agent may register. */
const ALL = 1_000;
const SHOWN_DELIVERIES = 20;

/** Adds `webhooks`: the addresses that are told of events, and how that goes. */
export function addWebhooks(program: Command, runtime: Runtime): void {
  const webhooks = program.command("webhooks").description("register addresses for your events, and see what they got");

  const list = addCommand(webhooks, "list", "list the registered addresses", { isDefault: true });
  does(list, runtime, async (session) => {
    const found = await collect(session.agent().webhooks.list(), ALL);
    session.output.result({ webhooks: found }, () =>
      found.length === 0 ? [text("No webhooks.")] : found.flatMap(webhookBlocks),
    );
    return undefined;
  });

  const add = takesIntent(addCommand(webhooks, "add <url>", "register an address for some events"))
    .requiredOption("--events <types>", "types of events with commas between, such as escrow.funded,escrow.released")
    .option("--durable", "repeat what isn't acknowledged");
  interface AddOptions {
    events: string;
    durable?: true;
    intent?: string;
  }
  does<AddOptions>(add, runtime, async (session, options, url) => {
    // The service knows the types, and its refusal names them.
    const events = options.events.split(",").map((type) => type.trim()) as NewWebhook["events"];
    const intent = beginIntent(session, options);
    const webhook = { url, events, durable: options.durable ?? false };
    const added = await session.agent().webhooks.register(webhook, { idempotencyKey: `webhooks.add:${intent}` });
    session.output.result(added, () => webhookBlocks(added));
    return undefined;
  });

  const remove = takesIntent(addCommand(webhooks, "remove <webhookId>", "remove an address"));
  does<{ intent?: string }>(remove, runtime, async (session, options, webhookId) => {
    const idempotencyKey = `webhooks.remove:${beginIntent(session, options)}`;
    const removed = await session.agent().webhooks.remove(webhookId, { idempotencyKey });
    session.output.result(removed, () => [text(`Removed ${removed.id}.`)]);
    return undefined;
  });

  const ping = takesIntent(addCommand(webhooks, "ping <webhookId>", "send an address a trial"));
  does<{ intent?: string }>(ping, runtime, async (session, options, webhookId) => {
    const idempotencyKey = `webhooks.ping:${beginIntent(session, options)}`;
    const sent = await session.agent().webhooks.ping(webhookId, { idempotencyKey });
    session.output.result(sent, () => [
      text(`Sent as delivery ${sent.id}; see agent-marketplace webhooks deliveries.`),
    ]);
    return undefined;
  });

  const secret = addCommand(webhooks, "secret", "show the secret that signs your webhooks");
  does(secret, runtime, async (session) => {
    const found = await session.agent().webhooks.secret();
    session.output.result(found, () => [text(found.secret)]);
    return undefined;
  });

  const deliveries = addCommand(
    webhooks,
    "deliveries",
    "list what was sent in the last seven days, newest first",
  ).option("--limit <n>", `at most so many, 1 to 200, by default ${SHOWN_DELIVERIES}`, wholeNumber(1, 200));
  does<{ limit?: number }>(deliveries, runtime, async (session, { limit = SHOWN_DELIVERIES }) => {
    const found = await collect(session.agent().webhooks.deliveries(), limit);
    const rows = found.map(({ id, event, status, attempts, createdAt }) => [
      id,
      event,
      status,
      String(attempts.length),
      createdAt,
    ]);
    session.output.result({ deliveries: found }, () =>
      found.length === 0
        ? [text("Nothing was sent.")]
        : [table(["delivery", "event", "status", "attempts", "at"], rows)],
    );
    return undefined;
  });
}

function webhookBlocks({ id, url, status, durable, events, failingSince }: RegisteredWebhook): Block[] {
  return [
    heading(id),
    facts({ address: url, status, durable, events: events.join(", "), "failing since": failingSince }),
  ];
}
