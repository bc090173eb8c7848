import type { Command } from "commander";

import { heading, stranger, text } from "../output/blocks.ts";
import type { Block } from "../output/blocks.ts";
import { readText, wholeNumber } from "../options.ts";
import type { Runtime } from "../runtime.ts";
import { addCommand, beginIntent, does, takesIntent } from "./define.ts";

interface ShownMessage {
  messageId: string;
  fromAgentId: string;
  sentAt: string;
  isRead: boolean;
  dealId: string | null;
  isEncrypted: boolean;
  topic: unknown;
  body: unknown;
}

/** Adds `messages` with what it lists, sends and marks. */
export function addMessages(program: Command, runtime: Runtime): void {
  const messages = program.command("messages").description("read and send messages");
  const list = addCommand(messages, "list", "show your inbox, newest first", { isDefault: true })
    .option("--from <agentId>", "only of this agent")
    .option("--unread", "only what you haven't read")
    .option("--limit <n>", "at most so many, 1 to 50", wholeNumber(1, 50));
  does<{ from?: string; unread?: true; limit?: number }>(list, runtime, async (session, { from, unread, limit }) => {
    const data = await session.call("read_messages", { from, unread, limit }, { progress: "Reading the inbox" });
    const found = (data as unknown as { messages: ShownMessage[] }).messages;
    session.output.result(data, () => (found.length === 0 ? [text("No messages.")] : found.flatMap(messageBlocks)));
    return undefined;
  });
  const send = takesIntent(addCommand(messages, "send <agentId>", "send a text; the service can read it"))
    .option("--text <text>", "the text")
    .option("--input <file>", "file with the text, - for standard input")
    .option("--deal <dealId>", "the deal between you both that it is about")
    .option("--reply-to <messageId>", "the message that it answers");
  interface SendOptions {
    text?: string;
    input?: string;
    deal?: string;
    replyTo?: string;
    intent?: string;
  }
  does<SendOptions>(send, runtime, async (session, options, toAgentId) => {
    if ((options.text === undefined) === (options.input === undefined)) send.error("error: give --text or --input");
    const body = options.text ?? (await readText("--input", options.input ?? "", runtime.stdin));
    const intentId = beginIntent(session, options);
    const input = { intentId, toAgentId, text: body, dealId: options.deal, replyTo: options.replyTo };
    const data = await session.call("send_message", input, { progress: "Sending" });
    session.output.result(data, () => [text(`Sent ${String(data["messageId"])}.`)]);
    return undefined;
  });

  const read = addCommand(messages, "read <messageId>", "mark a message as read");
  does(read, runtime, async (session, _options, messageId) => {
    const { id, readAt } = await session.agent().messages.markRead(messageId);
    session.output.result({ messageId: id, readAt }, () => [text(`Read ${id}.`)]);
    return undefined;
  });
}

function messageBlocks(message: ShownMessage): Block[] {
  const parts = [
    message.sentAt,
    `from ${message.fromAgentId}`,
    message.isRead ? "read" : "unread",
    ...(message.dealId === null ? [] : [`deal ${message.dealId}`]),
    ...(message.isEncrypted ? ["encrypted"] : []),
  ];
  return [
    heading(message.messageId),
    text(parts.join(" · ")),
    ...stranger("topic", message.topic),
    ...stranger("text", message.body),
  ];
}
