/** A stranger's text as it may be shown. */
export interface SafeText {
  text: string;
  /** Characters that were taken out: they can't be seen, or change the order of those that can. */
  hidden: number;
}

/**
 * Characters without a place on a page: controls other than line feed and tab, formatting (directions, tags), fillers, and what is unassigned or
 * for private use. What joins emoji and letters of some scripts stays.
 */
const HIDDEN =
  /(?!\n|\t|\u200c|\u200d|\ufe0f)[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]/gu;
/** Marks piled on one character reach into the lines above and below. */
const PILED = /(\p{M}{4})\p{M}+/gu;

/** Takes out what can't be seen. @example clean("pay\u202eme") // { text: "payme", hidden: 1 } */
export function clean(given: string): SafeText {
  let hidden = 0;
  const withoutHidden = given.replaceAll(HIDDEN, () => {
    hidden += 1;
    return "";
  });
  const text = withoutHidden.replaceAll(PILED, (piled: string, kept: string) => {
    hidden += Array.from(piled).length - Array.from(kept).length;
    return kept;
  });
  return { text, hidden };
}

/** The beginning of a text, cut between characters. */
export function shortened(text: string, max: number): string {
  const characters = Array.from(text);
  return characters.length <= max
    ? text
    : `${characters
        .slice(0, max - 1)
        .join("")
        .trimEnd()}…`;
}
