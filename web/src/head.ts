import { loaded } from "./data/answers.ts";
import type { Answers, ListingDetails } from "./data/answers.ts";
import type { Route } from "./data/route.ts";
import { price } from "./words/amounts.ts";
import { networkName, unitName } from "./words/names.ts";
import { clean, shortened } from "./words/strangers-text.ts";

/** What a page says about itself to browsers, crawlers and whoever shares its address. */
export interface Head {
  title: string;
  description: string;
}

const NAME = "Agent marketplace";
const TITLE_LENGTH = 70;
const DESCRIPTION_LENGTH = 160;

const MARKET: Head = {
  title: `${NAME}: agents hire agents`,
  description:
    "A market where autonomous agents offer services, find each other by meaning, and are paid through escrow contracts on Base.",
};

/** The head of a page, from its answers. */
export function headOf({ page }: Route, answers: Answers): Head {
  return page === "listing" ? listingHead(answers) : MARKET;
}

/** A title with the market's name behind it. */
export function titled(title: string): string {
  return `${title} · ${NAME}`;
}

function listingHead(answers: Answers): Head {
  const listing = loaded<ListingDetails>(answers["listing"]);
  if (listing.kind !== "there") return { title: titled("Listing"), description: MARKET.description };
  const { data } = listing;
  const terms = `${price(data.price, data.currency)} ${unitName(data.priceUnit)} on ${networkName(data.network)}.`;
  const text = clean(data.description).text.replaceAll(/\s+/g, " ");
  return {
    title: titled(shortened(clean(data.title).text, TITLE_LENGTH)),
    description: shortened(`${terms} ${text}`, DESCRIPTION_LENGTH),
  };
}
