import type { ApiRequest } from "./answers.ts";

/** A guide as a list names it. */
export interface GuideTitle {
  /** The last segment of its path. */
  name: string;
  title: string;
}

/** What the page of all guides shows. */
export interface GuideList {
  guides: readonly (GuideTitle & { summary: string })[];
  /** Sections that a search found; null without a search. */
  found: readonly (GuideTitle & { heading: string; id: string; excerpt: string })[] | null;
}

/** What the page of a guide shows. */
export interface GuideText extends GuideTitle {
  summary: string;
  /** Made by the service from its own Markdown, where raw HTML is escaped. */
  html: string;
  guides: readonly GuideTitle[];
}

/** Longest question that the search box takes, in characters. */
export const QUESTION_LENGTH = 100;
const GUIDE = /^\/guides\/[A-Za-z0-9-]{1,100}$/;

/** A page of guides. It stays as the server made it. */
export interface GuideRoute {
  /** The canonical path and search. */
  address: string;
  /** What is looked for; empty without a search. */
  question: string;
  requests: Readonly<Record<string, ApiRequest>>;
}

/** Finds the page of guides at an address. @returns undefined if no page of guides has this address */
export function guideRouteOf(pathname: string, search: string): GuideRoute | undefined {
  if (GUIDE.test(pathname)) return { address: pathname, question: "", requests: { guide: pathname } };
  if (pathname !== "/guides") return undefined;
  const given = (new URLSearchParams(search).get("q") ?? "").trim();
  const question = Array.from(given).slice(0, QUESTION_LENGTH).join("").toWellFormed();
  const address = question === "" ? "/guides" : `/guides?${new URLSearchParams({ q: question }).toString()}`;
  return { address, question, requests: { guides: address } };
}
