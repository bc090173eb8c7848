const CONTROL = /\p{Cc}/gu;
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

/**
 * A text as it is sent: without control characters and halves of characters, which some servers refuse, and cut at a number of
 * bytes of UTF-8 between two characters. Empty for a text without a visible character.
 */
export function cleanText(text: string, maxBytes: number): string {
  const clean = text.toWellFormed().replace(CONTROL, " ").trim();
  if (clean.replace(INVISIBLE, "").trim() === "") return "";
  const bytes = Buffer.from(clean);
  if (bytes.length <= maxBytes) return clean;
  let end = maxBytes;
  // A byte of the form 10xxxxxx continues a character.
  while (end > 0 && ((bytes[end] as number) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString().trim();
}
