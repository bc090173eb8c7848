/**
 * What XML 1.0 forbids, and what a reader can't see or what reorders what is seen: controls, format characters, fillers,
 * private use, lone surrogates. Joiners and U+FE0F stay, because emoji and some scripts need them.
 */
const HIDDEN =
  /(?!\n|\t|\u200c|\u200d|\ufe0f)[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}\u2800]/gu;
const LINE_BREAKS = /\r\n?|[\u0085\u2028\u2029]/g;
/** Stands where hidden characters were. */
const MARK = "\ufffd";

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** A text as the content of an element or an attribute, without hidden characters. */
export function escapeXml(text: string): string {
  const visible = text.replace(LINE_BREAKS, "\n").replace(HIDDEN, MARK);
  return visible.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}
