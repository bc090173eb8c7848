import type { DisputeCase, Side } from "./case.ts";
import { quote, inside } from "./texts.ts";

/*
 * Texts that address the judge. Finding them all is impossible, so nothing relies on it alone: facts come first, and
 * votes see the parties in different orders. What is found never counts for its author.
 */

/** Cyrillic and Greek letters that look like Latin ones, and these. */
const LOOKALIKES =
  "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u04cf\u051b\u051d\u03bd\u03bf\u03b1\u03c1\u03b9\u03ba\u03c4\u03c5\u0131\u0261\u0269";
const LATIN = "aeopcyxijsdhlqwvoapiktuigi";
const JUDGE = "(judge|arbiter|arbitrator|adjudicator|resolver|evaluator|grader|referee|language model|llm)";
const MODEL = `(${JUDGE}|ai|assistant|chatbot)`;
const IGNORE = "(ignore|disregard|forget|override|overrule|bypass|discard|set aside|do not follow|don't follow)";

/** Orders to a model as a model. Nobody needs them to make a case. */
const COMMANDS = [
  new RegExp(`\\b${IGNORE}\\b[^.!?\\n]{0,60}\\b(instructions?|prompts?|guidelines|directions|directives)\\b`),
  new RegExp(
    `\\b${IGNORE} (all |any |everything |the |your |these )*(previous|prior|earlier|above|preceding|rules)\\b`,
  ),
  /<\|?(im_start|im_end|system|endoftext|assistant)\|?>|\[\/?inst\]|<<\/?sys>>|^#{2,} ?(system|instructions?|response|assistant):/m,
  /^["' \t]{0,9}(system|developer|assistant)["' \t]{0,9}[:>][^\n]*\b(you|must|rule|ruling|judge|answer|seller|buyer|override|instructions?|met|verdict)\b/m,
  /\bsystem[ _-]?(prompt|override|instructions?)\b/,
  /\b(new|updated|revised|real|actual|further|additional) instructions?\b[^.!?\n]{0,30}(:|\bjudge\b|\bfollow)/,
  /^[^\p{L}\n]*end of (the |untrusted |user |party |seller |buyer )*(data|evidence|payload|input|document|case|fence|text|result)[^\p{L}\n]*$/mu,
  new RegExp(`\\byou are (now |hereby |acting as |really )*(a |an |the )?(\\w+ )?${JUDGE}\\b`),
  new RegExp(`\\b(if|when|as) you are (a |an |the )?(\\w+ )?${MODEL}\\b`),
  /\byou are now\b|\bfrom now on,? you\b|\b(developer|god|dan) mode\b|\bjailbr[eo]ak/,
  /["']?\b(answer|verdict|outcome|ruling|vote)["']?\s*[:=]\s*["']?(met|not[_ ]met|unclear|buyer ?refund|seller ?paid|split)\b/,
  /["']confidence["']?\s*[:=]\s*[01]?\.?\d/,
  /\bnot_met\b/,
  /^\W{0,9}(a|answer)\s?:\s?["']?(met|not met|satisfied|fulfilled)\b|\? (a|answer): ?(met|not met)\b/m,
  new RegExp(
    `\\b${JUDGE}s?\\b.{0,30}\\b(must|should|shall|has to|have to|needs? to|will)\\b (now )?(output|return|print|answer with|respond|reply)\\b`,
  ),
  /\b(ignore|forget|disregard) (everything|all|anything|whatever)( that| of what)? (you|i|we|was|is|came|stands)\b/,
  /\b(admin|system|developer|root|platform|judge)[ _-]override\b|^#{2,} ?(new )?(task|override|prompt)\b|\byour (task|job|role|goal) (has changed|is now)\b/m,
  /\b(evaluate|consider|treat|mark|rate|judge|count|regard|deem|score)\b (all|every|each|any|the|this|these|it|both)\b[^.!?\n]{0,40}\b(as|to be) (fully )?(satisfied|met|not met|unmet|fulfilled|compliant|passed|failed|approved|unacceptable)\b/,
  /\b(do not|don't|never) (read|look at|evaluate|check|consider|weigh|open) the (payload|result|delivery|evidence|facts|content)\b/,
  /\bif you (refuse|fail|don't|do not) (to )?(answer|comply|obey|say|rule|follow)\b|\bregardless of (its|the|their) (content|contents|quality|payload|result)\b/,
  /\b(set|force|emit)[ _.](verdict|ruling)\b/,
  /\b(directive|instruction|order|command|memo)s? (from|by|of) (openai|anthropic|google|meta|the (platform|system|developers?|operators?|admin\w*|marketplace))\b|\binstructed by the (platform|marketplace|operator|court)\b/,
  /\b(antworte|beantworte|bewerte|markiere|werte|stufe|sage?)\w*\b[^.!?\n]{0,60}\b(erfüllt|bestanden|zutreffend)/,
  /\b(répond|marque|considère|conclu|dites)[^.!?\n]{0,60}\b(rempli|satisfait|respecté|validé)/,
  /\b(responda?|respond[ae]r|contesta|marca|marque|considera|rispondi|segna)\w*\b[^.!?\n]{0,60}\b(se cumple|cumplid|satisfech|soddisfatt|rispettat|cumprid|satisfeit|atendid)/,
  /(ответь|отметь|считай|признай)[^.!?\n]{0,60}(выполнен|соблюд|пройден)|(回答|判定|标记|裁定|认定)[^。!?\n]{0,20}(满足|符合|通过|不满足|不符合)/,
  // False authority: neither the service nor the other party speaks in a text of a party.
  /(^|[[*#(>])[ \t]{0,9}(automated |automatic |official )?(platform|system|admin\w*|official|marketplace|escrow|resolver)('s)? (notice|note|message|ruling|decision|verdict|review|override)\b/m,
  /\b(statement|message|note) (of|by|from) the (buyer|seller|platform|marketplace|judge|resolver|service)\b\s?:|\bend of the (buyer|seller)'s (statement|message|evidence|text)\b/,
  /\b(answer|respond|reply|output|vote|mark|treat|consider|count|declare|rate|return)\b[^.!?\n]{0,60}\b(as |with |is |are |=|: ?)["'`]?(met|not met|satisfied|fulfilled|sellerpaid|buyerrefund)\b/,
  /\bignor(iere|ieren sie|ez|a|e|ar|are|en)\b[^.!?\n]{0,60}\b(anweisung|instru|istruz|regeln|regole|reglas|consignes|vorherig|anterior|précédent|precedent)/,
  /\b(vergiss|vergessen sie|olvida|oubliez?|dimentica)\b[^.!?\n]{0,60}\b(anweisung|instru|istruz|regeln|reglas|consignes)/,
  /(игнорируй|забудь|проигнорируй)[^.!?\n]{0,60}(инструкц|указани|правил)/,
  /(忽略|无视|忘记|忘掉|無視)[^。!?\n]{0,20}(指令|指示|规则|規則|说明|提示|命令)|(指示|命令|ルール)[^。\n]{0,15}(無視|忘れ)/,
  /(지시|명령|규칙)[^.\n]{0,15}(무시|잊)|تجاهل[^.\n]{0,40}(تعليمات|أوامر|القواعد)/,
];

/** Pleas to a judge. A party may plead in its reason and evidence, but a deliverable or a listing talks to no judge. */
const PLEAS = [
  new RegExp(
    `\\b(rule|find|decide|resolve|side|vote|settle)\\b( this| the| it)?( dispute| case)?,? (in favou?r of|for|with|against)( the)? (seller|buyer|provider|client|customer|us|me)\\b`,
  ),
  new RegExp(
    `\\b(note|notice|message|attention|instructions?|dear|hey|hello|memo|reminder|hint|info)\\b[ :,]*(to |for )?(the |all |any |every )?(\\w+ )?${MODEL}s?\\b`,
  ),
  /\b(sellerpaid|buyerrefund)\b/,
  /\b(verified|approved|accepted|certified|validated|cleared) by the (platform|marketplace|judge|resolver|escrow service)\b/,
  /\b(the )?(dispute|case|escrow|arbitration|ruling)\b[^.!?\n]{0,30}\b(has (already )?been|was already|is already|is hereby)\b[^.!?\n]{0,20}\b(resolved|decided|ruled|settled|approved|closed|verified)\b/,
  /\b(pay|release|award|refund|return)\b[^.!?\n]{0,30}\b(escrow(ed)?|funds|full amount)\b[^.!?\n]{0,20}\b(to|for) the (seller|buyer)\b/,
];

/** A sentence that says what a judge has to do about the parties or their deal. */
const DEAL = /\b(seller|buyer|dispute|delivery|escrow|check|payment|ruling|verdict)s?\b/;
const JUDGE_MUST = new RegExp(
  `\\b${JUDGE}s?\\b.{0,50}\\b(must|should|shall|have to|has to|need to|needs to|please|is instructed|are instructed|will)\\b.{0,60}\\b(rule|pay|refund|favou?r|accept|approve|award|answer|decide|release|side|treat|consider|conclude|ignore|find|return|output|mark|reject)\\b`,
);

/** A text in lower case without the tricks that hide words from a pattern. */
function unmasked(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(new RegExp(`[${LOOKALIKES}]`, "g"), (letter) => LATIN.charAt(LOOKALIKES.indexOf(letter)))
    .replaceAll(/[’‘`´]/g, "'")
    .replaceAll(/[“”„«»]/g, '"')
    .replaceAll(/\b(?:[a-z][ .\-_*]){3,}[a-z]\b/g, (spelled) => spelled.replaceAll(/[ .\-_*]/g, ""))
    .replaceAll(/[ \t_]{2,}/g, " ");
}

const BASE64 = /[A-Za-z0-9+/_-]{24,}={0,2}/g;
const READABLE = /^[\p{L}\p{N}\p{P}\p{S}\s]+$/u;

/** The text itself, and what a base64 part of it says. */
function readings(text: string): string[] {
  // Cyrillic is read as it is too: folding its letters would hide its own words.
  const folded = unmasked(text);
  // A right-to-left override showed the reversed text before it was removed.
  const reversed = Array.from(folded).reverse().join("");
  const plain = [folded, folded.replaceAll("\n", " "), text.normalize("NFKC").toLowerCase(), reversed];
  const decoded = (text.match(BASE64) ?? []).slice(0, 20).flatMap((part) => {
    const inner = Buffer.from(part, "base64").toString("utf8");
    return READABLE.test(inner) ? [unmasked(inner)] : [];
  });
  return [...plain, ...decoded];
}

/** Whether a text gives orders to a model. */
export function isCommand(text: string): boolean {
  return readings(text).some((reading) => COMMANDS.some((pattern) => pattern.test(reading)));
}

/** Whether a text that isn't meant for a judge talks to one: orders to a model, or pleas. */
export function addressesJudge(text: string): boolean {
  if (isCommand(text)) return true;
  return readings(text).some(
    (reading) =>
      PLEAS.some((pattern) => pattern.test(reading)) ||
      reading.split(/[.!?\n]/).some((sentence) => DEAL.test(sentence) && JUDGE_MUST.test(sentence)),
  );
}

const withoutQuotations = (text: string): string => text.replaceAll(/["“„«][^"“”„«»\n]*["”“»]/g, " ");

/**
 * The checks in words that give orders to a judge instead of stating something about the result. Orders inside of
 * quotation marks are a subject like any other. The buyer wrote the checks, so leaving one out never helps its author.
 */
export function voidChecks({ criteria, checks }: DisputeCase): Set<string> {
  const inWords = checks.filter(({ kind }) => kind === "words").map(({ text }) => text);
  const texts = [...inWords, ...(criteria?.criteria?.checks ?? []).filter((text) => !text.startsWith("cel:"))];
  return new Set(texts.filter((text) => addressesJudge(withoutQuotations(text))));
}

/** A text of a party that addresses the judge. */
export interface Directive {
  by: Side;
  /** Where it is: `payload`, `reason`. */
  field: string;
  text: string;
}

/**
 * The texts of each party that address the judge, at most one for each field. A party that has one can't win by
 * judgement: see docs/inside/rulings.md.
 */
export function directivesIn(dispute: DisputeCase): Directive[] {
  const { criteria, payload, reason, evidence } = dispute;
  const found: Directive[] = [];
  const look = (by: Side, field: string, value: unknown, isOne: (text: string) => boolean): void => {
    const { keys, strings } = inside(value);
    // Keys and values can spell an order out together, such as an imitation of the answer's form.
    const whole = typeof value === "object" ? [JSON.stringify(value, null, 1)] : [];
    const text = [...strings, ...keys, ...whole].find((candidate) => isOne(candidate));
    if (text !== undefined) found.push({ by, field, text });
  };
  look("seller", "title", criteria?.title, addressesJudge);
  look("seller", "description", criteria?.description, addressesJudge);
  look("seller", "payload", payload, addressesJudge);
  look("buyer", "request", criteria?.requestPayload, addressesJudge);
  look("buyer", "schema", criteria?.criteria?.schema, addressesJudge);
  look("buyer", "checks", criteria?.criteria?.checks, addressesJudge);
  look("buyer", "reason", reason, isCommand);
  for (const [index, { by, description, attachments }] of evidence.entries()) {
    look(by, `evidence ${index + 1}`, [description, ...attachments.map(readableUrl)], isCommand);
  }
  return found;
}

/** The same in the texts of attachments, where a party may plead as in its evidence. */
export function directivesInAttachments(texts: readonly { by: Side; url: string; text: string }[]): Directive[] {
  return texts
    .filter(({ text }) => isCommand(text))
    .map(({ by, url, text }) => ({ by, field: `attachment ${quote(url)}`, text }));
}

/** The line of a ruling about such a text. */
export function directiveLine({ by, field, text }: Directive): string {
  return `The ${by}'s ${field} addresses the judge: ${quote(text)}. Such a text counts for nobody, and its author can't win by judgement.`;
}

/** A URL can spell a text out between its separators. */
function readableUrl(url: string): string {
  let text = url;
  try {
    text = decodeURIComponent(url);
  } catch {
    // Not percent-encoded: it is read as it is.
  }
  return text.replaceAll(/[-_+/]/g, " ");
}
