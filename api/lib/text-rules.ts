// The rules of each kind of text (docs/api/texts.md). Everything that a stranger reads is checked here.
import { toUnicode } from "tr46";

/**
 * The kinds of text:
 * - `name`: names, titles, types and addresses, in one line;
 * - `longText`: descriptions, reasons, rationales: what one party writes for another to read;
 * - `message`: a message from one agent to another, which may contain any control characters;
 * - `nameQuery` and `query`: what someone looks for. Nobody else is shown it, so it may contain what old names contain.
 *
 * Payloads, memory and criteria belong to their parties and are none of these: they stay as they are.
 */
export type TextKind = "name" | "longText" | "message" | "nameQuery" | "query";

/** A rule: the first code point that breaks it, or undefined. The text is without the emoji and flags that are allowed. */
type Rule = (text: string) => { at: number; why: string } | undefined;

/** Characters that may be in a text only as a part of something else: U+25A1 takes the place of what was allowed. */
const ALLOWED = "\u25a1";

const RESERVED = "is unassigned or for private use";
const DIRECTION = "changes the direction of text";
const CONTROL = "is a control character";
const INVISIBLE = "can't be seen";
const INTERLINEAR = "marks an annotation";

function refuse(pattern: RegExp, why: string): Rule {
  return (text) => {
    const at = text.search(pattern);
    return at === -1 ? undefined : { at, why };
  };
}

const FILLERS = String.raw`\u115f\u1160\u2800\u3164\uffa0`;
const noLineBreaks = refuse(/[\u2028\u2029]/u, "breaks the line");
const noControls = refuse(/\p{Cc}/u, CONTROL);
const noOtherControls = refuse(/[^\P{Cc}\t\n\r]/u, CONTROL);
const noDirection = refuse(/\p{Bidi_Control}/u, DIRECTION);
/** Right-to-left marks affect their neighbours alone; these reorder what follows, up to the end of the paragraph. */
const noReordering = refuse(/[\u202a-\u202e\u2066-\u2069]/u, DIRECTION);
const noFillers = refuse(new RegExp(`[${FILLERS}]`, "u"), INVISIBLE);
const noInterlinear = refuse(/[\ufff9-\ufffb]/u, INTERLINEAR);
const noTags = refuse(/[\u{e0000}-\u{e007f}]/u, "belongs into a flag");
const noHiddenRuns = refuse(
  /(?:\p{Default_Ignorable_Code_Point}|\u2800){5}/u,
  "starts more than four hidden characters in a row",
);

/** Names: everything hidden but joiners, which `joinersFit` checks. */
const nothingHidden = refuse(/[[\p{Default_Ignorable_Code_Point}\u2800]--[\u200c\u200d]]/v, INVISIBLE);
const nothingReserved = refuse(/[\p{Cn}\p{Co}\p{Cs}]/u, RESERVED);
const noLooseTones = refuse(/\p{Emoji_Modifier}/u, "belongs to an emoji that has skin tones");

/** A run of letters and marks with a joiner in it. */
const JOINED = /[\p{L}\p{M}\u200c\u200d]*[\u200c\u200d][\p{L}\p{M}\u200c\u200d]*/gu;

/** RFC 5892, A.1 and A.2, as UTS 46 checks the labels of a domain name. */
const joinersFit: Rule = (text) => {
  for (const { 0: word, index } of text.matchAll(JOINED)) {
    if (toUnicode(word, { checkJoiners: true }).error) {
      return { at: index + word.search(/[\u200c\u200d]/u), why: "joins nothing here" };
    }
  }
  return undefined;
};

/** The flags of England, Scotland and Wales, the only sequences with tags that Unicode recommends. */
const TAG_FLAGS = /\p{RGI_Emoji_Tag_Sequence}/gv;
const EMOJI = /\p{RGI_Emoji}/gv;
const TONE = /^\p{Emoji_Modifier}$/u;
const hasOnlyPlainCharacters = (text: string): boolean => !/[^\u0020-\u007e]/u.test(text);

/** Takes each match out, as long as its length in UTF-16, so that positions stay the same. */
const takeOut = (match: string): string => ALLOWED.repeat(match.length);
const withoutFlags = (text: string): string => text.replace(TAG_FLAGS, takeOut);
/** A skin tone alone is a colour sample. Directly behind something else it would be a tone of what has none. */
const withoutEmoji = (text: string): string =>
  text.replace(EMOJI, (emoji: string, at: number) =>
    TONE.test(emoji) && at > 0 && !/\s/u.test(text.charAt(at - 1)) ? emoji : takeOut(emoji),
  );

interface Row {
  takeOut: (text: string) => string;
  rules: readonly Rule[];
}

const asIs = (text: string): string => text;

/** The table: each kind with its rules. */
const TABLE: Readonly<Record<TextKind, Row>> = {
  name: {
    takeOut: withoutEmoji,
    rules: [
      ...[noControls, noLineBreaks, noDirection, noInterlinear, nothingHidden, nothingReserved, noLooseTones],
      joinersFit,
    ],
  },
  longText: {
    takeOut: withoutFlags,
    rules: [noOtherControls, noReordering, noInterlinear, noFillers, noTags, noHiddenRuns],
  },
  message: { takeOut: withoutFlags, rules: [noInterlinear, noFillers, noTags, noHiddenRuns] },
  nameQuery: { takeOut: asIs, rules: [noControls, noLineBreaks, noDirection] },
  query: { takeOut: asIs, rules: [noOtherControls, noReordering] },
};

/** Describes the first forbidden character of a text, with its position in code points; undefined if there is none. */
export function textFault(kind: TextKind, text: string): string | undefined {
  if (hasOnlyPlainCharacters(text)) return undefined;
  const row = TABLE[kind];
  const rest = row.takeOut(text);
  for (const rule of row.rules) {
    const found = rule(rest);
    if (found === undefined) continue;
    const code = (text.codePointAt(found.at) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    const place = Array.from(text.slice(0, found.at)).length + 1;
    return `Must not contain U+${code} (character ${place}): it ${found.why}`;
  }
  return undefined;
}

/** Whether a text has nothing that can be seen. */
export function isBlank(text: string): boolean {
  return text.replace(/\p{Default_Ignorable_Code_Point}/gu, "").trim() === "";
}
