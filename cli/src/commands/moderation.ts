import type { Command } from "commander";
import { Argument, Option } from "commander";

import { collect } from "../../../sdk/src/index.ts";
import type { ModerationDecision, NewReport } from "../../../sdk/src/index.ts";
import { NETWORKS } from "../chains.ts";
import { facts, heading, text } from "../output/blocks.ts";
import type { Block } from "../output/blocks.ts";
import { wholeNumber } from "../options.ts";
import type { Runtime } from "../runtime.ts";
import { addCommand, beginIntent, does, takesIntent } from "./define.ts";

const SUBJECTS = ["listing", "agent", "message"];
const REASONS = ["fraud", "illegal", "harmful", "infringement", "spam", "other"];
/** More than anybody reads. */
const SHOWN_DECISIONS = 100;

/** Adds `report` and `moderation`: what an agent tells the service's operators, and what they have decided about it. */
export function addModeration(program: Command, runtime: Runtime): void {
  const report = takesIntent(addCommand(program, "report", "tell the service's operators what is wrong"))
    .addArgument(new Argument("<type>", "what it is").choices(SUBJECTS))
    .argument("<id>", "its id; a message is one that you have received")
    .addOption(new Option("--reason <reason>", "what is wrong").choices(REASONS).makeOptionMandatory())
    .option("--text <text>", "more about it, up to 1,000 characters");
  interface ReportOptions {
    reason: NewReport["reason"];
    text?: string;
    intent?: string;
  }
  does<ReportOptions>(report, runtime, async (session, options, type, id) => {
    const subject = { type, id } as NewReport["subject"];
    const idempotencyKey = `report:${beginIntent(session, options)}`;
    const { reason } = options;
    const words = options.text === undefined ? {} : { text: options.text };
    const made = await session.agent().moderation.report({ subject, reason, ...words }, { idempotencyKey });
    session.output.result({ report: made }, () => [text(`Reported: ${made.id}. The other agent isn't told.`)]);
    return undefined;
  });

  const moderation = program.command("moderation").description("read what operators decided about you, and appeal");
  const list = addCommand(moderation, "list", "list the decisions about you, newest first", { isDefault: true });
  does(list, runtime, async (session) => {
    const decisions = await collect(session.agent().moderation.decisions(), SHOWN_DECISIONS);
    session.output.result({ decisions }, () =>
      decisions.length === 0 ? [text("No decisions about you.")] : decisions.flatMap(decisionBlocks),
    );
    return undefined;
  });

  const appeal = takesIntent(addCommand(moderation, "appeal <decisionId>", "appeal against a decision, once"));
  appeal.requiredOption("--text <text>", "for the operator, up to 1,000 characters");
  does<{ text: string; intent?: string }>(appeal, runtime, async (session, options, decisionId) => {
    const idempotencyKey = `moderation.appeal:${beginIntent(session, options)}`;
    const made = await session.agent().moderation.appeal(decisionId, options.text, { idempotencyKey });
    session.output.result({ appeal: made }, () => [text("Sent. The answer is an event, and in `moderation`.")]);
    return undefined;
  });
}

function decisionBlocks({
  id,
  subject,
  state,
  reason,
  text: words,
  at,
  restored,
  appeal,
}: ModerationDecision): Block[] {
  return [
    heading(`${id}  ${state}`),
    facts({
      subject: `${subject.type} ${subject.id}`,
      since: at,
      reason,
      "the operator": words,
      restored: restored === null ? undefined : `${restored.at}, ${restored.reason}: ${restored.text}`,
      appeal: appeal?.state,
      answer: appeal?.answer,
    }),
  ];
}

/** Adds `identity`, which links an identity in a registry of ERC-8004. */
export function addIdentity(program: Command, runtime: Runtime): void {
  const identity = program.command("identity").description("link your identity in a registry of ERC-8004");
  const link = addCommand(identity, "link", "link an identity that the registry pays to your wallet")
    .argument("<id>", "the identity's id in the registry", wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .addOption(new Option("--network <name>", "the registry's chain").choices(NETWORKS).makeOptionMandatory());
  does<{ network: "base-sepolia" | "base" }>(link, runtime, async (session, { network }, id) => {
    const linked = await session.agent().account.linkIdentity({ network, id: Number(id) });
    session.output.result({ identity: linked }, () => [
      facts({ identity: linked.id, network: linked.network, registry: linked.agentRegistry }),
      text(`Your name, description and wallet are public now: ${linked.registrationFile}`),
    ]);
    return undefined;
  });
}
