import { z } from "zod";

import { canonicalJson } from "../../../../lib/canonical-json.ts";
import { sha256Hex } from "../../../../lib/ids.ts";
import type { DisputeCase, Side, WeighedText } from "../case.ts";
import { pointingMessages } from "../prompt.ts";
import type { AttachedText, Place } from "../prompt.ts";
import type { Question } from "../questions.ts";
import { inside, quote } from "../texts.ts";
import { collectPassages } from "./passages.ts";
import type { Session } from "./session.ts";
import { toStatement } from "./service-texts.ts";

/** Pointers of a party that are followed, and their length. */
const MAX_POINTERS = 8;
const MAX_QUOTE = 1_000;
const LEAST_QUOTE = 3;
const SHA256 = /\b(?:0x)?([0-9a-f]{64})\b/gi;

const pointersSchema = z.object({
  pointers: z.array(z.object({ text: z.string(), check: z.string(), quote: z.string() })),
});

/** The places that the parties' texts point to, and the weight of each text. */
export interface Pointed {
  places: Map<Question, Place[]>;
  weighed: WeighedText[];
}

/** A text of a party that no deciding request shows. */
interface PartyText {
  by: Side;
  item: string;
  text: string;
}

/** The parties' texts about the result, each with its name. */
function collectTexts({ reason, evidence }: DisputeCase, attachments: readonly AttachedText[]): PartyText[] {
  const texts: PartyText[] = [];
  if (reason !== null && reason.trim() !== "") texts.push({ by: "buyer", item: "reason", text: reason });
  for (const [index, { by, description, attachments: urls }] of evidence.entries()) {
    texts.push({ by, item: `evidence ${index + 1}`, text: [description, ...urls].join("\n") });
  }
  for (const [index, { by, url, text }] of attachments.entries()) {
    texts.push({ by, item: `attachment ${index + 1}`, text: `${url}\n${text}` });
  }
  return texts;
}

/**
 * Considers the parties' submissions without letting them decide. Code compares hashes, and one request for each party
 * finds the parts of the result that its texts point to. Only parts that code finds in the result count. The checks are
 * then asked with these parts in view.
 */
export async function followPointers(
  session: Session,
  {
    dispute,
    attachments,
    questions,
  }: { dispute: DisputeCase; attachments: readonly AttachedText[]; questions: readonly Question[] },
): Promise<Pointed> {
  const texts = collectTexts(dispute, attachments);
  const found = inside(dispute.payload);
  const parts = [...found.strings, ...found.keys];
  // A result of one sentence is seen as a whole.
  const isWorthPointing = collectPassages([{ name: "result", by: "seller", value: dispute.payload }]).length > 1;
  const places = new Map<Question, Place[]>();
  const led = new Map<PartyText, string[]>();

  async function ask(by: Side): Promise<void> {
    const own = texts.filter((text) => text.by === by);
    if (own.length === 0 || !isWorthPointing) return;
    const pointing = {
      result: dispute.payload,
      checks: questions.map(toStatement),
      texts: own.map(({ text }) => text),
    };
    const asking = {
      name: "pointers",
      schema: pointersSchema,
      messages: (fence: string) => pointingMessages(pointing, fence),
    };
    const said = await session.ask(asking, `What the ${by}'s texts point to`);
    for (const { text, check, quote: part } of said?.pointers.slice(0, MAX_POINTERS) ?? []) {
      const from = own[Number(/^t(\d+)$/.exec(text)?.[1]) - 1];
      const question = questions[Number(/^c(\d+)$/.exec(check)?.[1]) - 1];
      const isThere =
        part.trim().length >= LEAST_QUOTE && part.length <= MAX_QUOTE && parts.some((one) => one.includes(part));
      if (from === undefined || question === undefined || !isThere) continue;
      const known = places.get(question) ?? [];
      if (!known.some((place) => place.quote === part)) places.set(question, [...known, { quote: part }]);
      led.set(from, [
        ...(led.get(from) ?? []),
        `it points to ${quote(part)} in the result, for ${quote(question.text)}`,
      ]);
    }
  }

  await Promise.all([ask("buyer"), ask("seller")]);
  const weighed = texts.map((text): WeighedText => {
    const details = [...hashesIn(text, dispute, attachments), ...(led.get(text) ?? [])];
    const weight = details.length > 0 ? "counted" : "read";
    const detail = details.length > 0 ? details.join("; ") : "it leads to nothing in the result that code can find";
    return { by: text.by, item: text.item, weight, detail };
  });
  return { places, weighed };
}

/** Hashes that a text names and that are those of the result or of an attachment. */
function hashesIn({ text, item }: PartyText, { payload }: DisputeCase, attachments: readonly AttachedText[]): string[] {
  const named = new Set([...text.matchAll(SHA256)].map(([, hex = ""]) => hex.toLowerCase()));
  if (named.size === 0) return [];
  const known: [string, string][] = [
    [sha256Hex(canonicalJson(payload)), "the payload"],
    ...inside(payload).strings.map((part): [string, string] => [sha256Hex(part), `${quote(part)} in the payload`]),
    ...attachments
      .map(({ text: content, url }, index): [string, string] => [
        sha256Hex(content),
        `the text at ${quote(url)}, attachment ${index + 1}`,
      ])
      .filter(([, name]) => !name.endsWith(item)),
  ];
  const right = known.filter(([hash]) => named.has(hash));
  return right.map(([hash, name]) => `it names the SHA-256 of ${name}, 0x${hash}`);
}
