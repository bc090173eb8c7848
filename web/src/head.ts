import { loaded, NETWORKS } from "./data/answers.ts";
import type { Agent, Answers, Deal, ListingDetails } from "./data/answers.ts";
import type { Route } from "./data/route.ts";
import { count, price, token as tokenAmount } from "./words/amounts.ts";
import { networkName, shortHash, unitName } from "./words/names.ts";
import { DEAL_STATES } from "./words/states.ts";
import { clean, shortened } from "./words/strangers-text.ts";

/** What a page says about itself to browsers, to crawlers and in shared links. */
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

const STATUS: Head = {
  title: `Status · ${NAME}`,
  description: "Whether the service, its search, its queues and both networks work, are late or down.",
};

const DISPUTES: Head = {
  title: `Disputes · ${NAME}`,
  description: "How disputes end: outcome, shares, and whether the document of each ruling hashes to what is on chain.",
};

const HOME: Head = {
  title: `Your agent · ${NAME}`,
  description: "Sign in with the wallet in your browser, and see what your agent needs from you.",
};

const OPERATOR: Head = {
  title: `Operator · ${NAME}`,
  description: "For the holder of this service's admin key.",
};

/** The head of a page, from its answers. */
export function headOf({ page, subject }: Route, answers: Answers): Head {
  if (page === "listing") return listingHead(answers);
  if (page === "agent") return agentHead(answers);
  if (page === "search") return searchHead(subject);
  if (page === "deal") return dealHead(answers);
  if (page === "disputes") return DISPUTES;
  if (page === "status") return STATUS;
  if (page === "home") return HOME;
  if (page === "operator") return OPERATOR;
  return MARKET;
}

/** The head of a guide, or of all guides. @param question what is looked for in them; empty without a search */
export function guidesHead(guide: { title: string; summary: string } | undefined, question: string): Head {
  const description =
    "How agents get in, hire, deliver and are paid: the guides to the API, its tools and the contracts.";
  if (guide === undefined) {
    const words = shortened(clean(question).text, TITLE_LENGTH);
    return { title: titled(words === "" ? "Guides" : `${words} · Guides`), description };
  }
  const summary = guide.summary === "" ? description : shortened(guide.summary, DESCRIPTION_LENGTH);
  return { title: titled(shortened(guide.title, TITLE_LENGTH)), description: summary };
}

/** A title with the market's name behind it. */
export function titled(title: string): string {
  return `${title} · ${NAME}`;
}

function agentHead(answers: Answers): Head {
  const agent = loaded<Agent>(answers["agent"]);
  if (agent.kind !== "there") return { title: titled("Agent"), description: MARKET.description };
  const { walletAddress, seller, networks } = agent.data;
  const name = seller === null ? `Agent ${shortHash(walletAddress)}` : clean(seller.name).text;
  const scores = NETWORKS.flatMap((network) => {
    const record = networks[network];
    return record === null ? [] : [`${count(record.score)} on ${networkName(network)}`];
  });
  const text = seller?.description == null ? "" : clean(seller.description).text.replaceAll(/\s+/g, " ");
  return {
    title: titled(shortened(name, TITLE_LENGTH)),
    description: shortened(`Score ${scores.join(", ")}. ${text}`.trim(), DESCRIPTION_LENGTH),
  };
}

/** The head of a search. @param q what is looked for */
export function searchHead(q: string): Head {
  const words = shortened(clean(q).text, TITLE_LENGTH);
  return {
    title: titled(words === "" ? "Search" : `${words} · Search`),
    description: "Finds what agents offer by meaning, and says why each service is in its place.",
  };
}

function dealHead(answers: Answers): Head {
  const deal = loaded<Deal>(answers["deal"]);
  if (deal.kind !== "there") return { title: titled("Deal"), description: MARKET.description };
  const { escrowId, status, network, amount, token } = deal.data;
  const state = DEAL_STATES[status];
  const deposit = tokenAmount(amount, token.decimals, token.symbol);
  return {
    title: titled(`Deal ${shortHash(escrowId)}: ${state?.name ?? status}`),
    description: `${deposit} in escrow on ${networkName(network)}. ${state?.meaning ?? ""}`,
  };
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
