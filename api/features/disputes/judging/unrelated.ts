import type { Encoding } from "../../../search/embedding/encoder.ts";
import { cosine } from "../../../search/embedding/vectors.ts";
import { splitWords } from "../../../search/embedding/words.ts";
import type { DisputeCase } from "./case.ts";
import { toContent, sharedTerms } from "./evidence-text.ts";
import type { Content } from "./evidence-text.ts";

/** How the embedded judge reads texts. */
export interface Reading {
  encode: (text: string) => Promise<Encoding>;
  isEnglish: (text: string) => Promise<boolean>;
}

/*
 * "Nothing to do with the request" costs the seller everything, so it takes several signs at once. The
 * figures leave a margin to every honest pair of the cases of test/bench/disputes/ and of the tests.
 */

/** A shorter text says too little about its subject. */
const LEAST_WORDS = 25;
/** With numbers for more than one word in three a payload is a table, and no text. */
const WORDS_PER_NUMBER = 3;
/** Longer payloads aren't read to their end. */
const MOST_CHARACTERS = 24_000;
/** Maximum characters of a text that is encoded as one: the encoder reads 256 tokens. */
const PORTION = 1_000;
/** Passages of either side that are compared. */
const MOST_PASSAGES = 24;
/** Closeness that no portion of the payload reaches: to the request, to title and description and request together. */
const REQUEST_COSINE = 0.12;
const AGREED_COSINE = 0.14;
/** Closeness that no passage of the payload reaches to one of the request. */
const PASSAGE_COSINE = 0.24;
/** Words that any two texts may share by chance: "first", "week", "may". */
const CHANCE_TERMS = 2;

/** The subject may be what a link or a name of a file leads to. */
const LINK =
  /\b[a-z][a-z0-9+.-]*:\/\/|\bwww\.|\b(mailto|ipfs|doi|urn):|\b[\w-]+\.(com|org|net|io|dev|app|example|pdf|docx?|xlsx?|csv|txt|md|html?|mp[34]|wav|png|jpe?g|zip)\b/i;
/** A request whose subject is something that it doesn't contain. */
const ELSEWHERE =
  /\b(attach\w*|enclosed|upload\w*|recordings?|footage)\b|\b(the|this|that|these|those|our|my|your|his|her|their) (\w+ ){0,2}(documents?|files?|videos?|audios?|scans?|photos?|pictures?|images?|screenshots?|pages?|websites?|podcasts?|episodes?|repositor(y|ies)|spreadsheets?|slides?|decks?)\b/i;
/** A request that leaves the subject to the seller. */
const FREE_CHOICE =
  /\b(anything|whatever|whichever|random\w*|surpris\w+|invent\w*|imagin\w+|made[- ]up|fiction\w*|trivia|riddles?|jokes?|horoscopes?|dream\w*)\b|\b(any|some) (\w+ )?(genre|subject|topic|theme|kind|sort|style)\b|\bfacts\b|\bof your (own )?choice\b|\byou (like|choose|prefer|want)\b/i;
/** The same in the title of a listing. */
const OPEN_SERVICE =
  /\btranscri\w+|\bocr\b|\bspeech\b|\bstor(y|ies)\b|\bpoe(m|ms|try)\b|\bjokes?\b|\briddles?\b|\bfiction\b/i;

/** Whether a request leaves open what its result is about, so that no result can be called unrelated. */
export function leavesSubjectOpen({ criteria }: DisputeCase): boolean {
  const { text } = toContent(criteria?.requestPayload);
  return [LINK, ELSEWHERE, FREE_CHOICE].some((one) => one.test(text)) || OPEN_SERVICE.test(criteria?.title ?? "");
}

/**
 * Whether a payload is a text about something else than a request that is a text, too: both have 25 words or more, no
 * links, and an English that the encoder knows. It says so of nothing else.
 */
export async function isAboutSomethingElse(
  dispute: DisputeCase,
  content: Content,
  { encode, isEnglish }: Reading,
): Promise<boolean> {
  const { criteria } = dispute;
  const request = toContent(criteria?.requestPayload);
  const agreed = toContent([
    criteria?.title,
    criteria?.description,
    criteria?.requestPayload,
    criteria?.criteria?.checks,
  ]);
  if (!isPlainText(request) || !isPlainText(content) || content.text.length > MOST_CHARACTERS) return false;
  if (leavesSubjectOpen(dispute)) return false;
  if (sharedTerms(content.terms, agreed.terms) > CHANCE_TERMS) return false;
  if (!(await isEnglish(content.text)) || !(await isEnglish(request.text))) return false;

  const closeness = async (left: string, right: string) =>
    cosine((await encode(left)).vector, (await encode(right)).vector);
  /** Whether a text of the one side comes this close to a text of the other. One at a time: searches use the encoder too. */
  async function isClose(some: readonly string[], others: readonly string[], bound: number): Promise<boolean> {
    for (const text of some) for (const other of others) if ((await closeness(text, other)) >= bound) return true;
    return false;
  }
  const portions = splitPortions(content.text);
  if (await isClose(splitPortions(request.text), portions, REQUEST_COSINE)) return false;
  if (await isClose(splitPortions(agreed.text), portions, AGREED_COSINE)) return false;
  const asked = toContent([criteria?.requestPayload, criteria?.criteria?.checks]);
  return !(await isClose(longest(asked.passages), longest(content.passages), PASSAGE_COSINE));
}

function isPlainText({ text, words, others, orders }: Content): boolean {
  return words >= LEAST_WORDS && others * WORDS_PER_NUMBER <= words && orders.length === 0 && !LINK.test(text);
}

/** A text in portions that end where a passage ends. */
function splitPortions(text: string): string[] {
  const portions: string[][] = [];
  let length = Infinity;
  for (const passage of text.split("\n")) {
    length += passage.length + 1;
    if (length > PORTION) {
      portions.push([]);
      length = passage.length;
    }
    portions.at(-1)?.push(passage);
  }
  return portions.map((passages) => passages.join("\n")).filter((portion) => splitWords(portion).length > 0);
}

/** The longest passages: they say most. */
function longest(passages: readonly string[]): string[] {
  return [...passages].sort((left, right) => right.length - left.length).slice(0, MOST_PASSAGES);
}
