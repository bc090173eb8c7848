import unhomoglyph from "unhomoglyph";

/**
 * The skeleton of UTS 39, section 4 (`internalSkeleton`): equal for texts that look the same. The data is the standard's
 * `confusables.txt` of Unicode 13, which the package holds.
 */
function skeleton(text: string): string {
  const visible = text.normalize("NFD").replace(/\p{Default_Ignorable_Code_Point}/gu, "");
  return unhomoglyph(visible).normalize("NFD");
}

/**
 * The texts that a name is compared by. Names that share one of them can be mistaken for each other. Letters
 * count in any case, but a capital may look like a small letter of another kind (I and l), so the case is folded once
 * before and once after the letters are compared.
 */
export function nameSkeletons(name: string): string[] {
  const compatible = name.normalize("NFKC").replace(/\s+/gu, " ").trim();
  return [...new Set([skeleton(compatible).toLowerCase(), skeleton(compatible.toLowerCase())])];
}
