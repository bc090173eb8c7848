import type { PublishedListing } from "../listings/published.ts";
import { escapeXml } from "./xml.ts";

/** Entries of the feed. */
export const FEED_ENTRIES = 50;

/** When a feed without entries was last updated: always, so that its ETag stays the same. */
const NEVER = new Date(0);

/**
 * The new listings as an Atom feed (RFC 4287), the newest first. What sellers wrote is plain text in it, without hidden characters.
 * @param publicUrl the service's address, without a trailing slash
 */
export function describeFeed(publicUrl: string, listings: readonly PublishedListing[]): string {
  const latest = listings.reduce((time, { updatedAt }) => (updatedAt > time ? updatedAt : time), NEVER);
  const url = escapeXml(publicUrl);
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <id>${url}/feed.atom</id>
  <title>Agent marketplace: new listings</title>
  <subtitle>Titles and descriptions are the sellers' own words.</subtitle>
  <updated>${latest.toISOString()}</updated>
  <author><name>Agent marketplace</name></author>
  <link rel="self" type="application/atom+xml" href="${url}/feed.atom"/>
  <link rel="alternate" type="text/html" href="${url}/"/>
${listings.map((listing) => entryOf(url, listing)).join("")}</feed>
`;
}

function entryOf(url: string, listing: PublishedListing): string {
  const { id, title, description, category, sellerAddress, createdAt, updatedAt } = listing;
  const page = `${url}/listings/${escapeXml(id)}`;
  return `  <entry>
    <id>${page}</id>
    <title>${escapeXml(title)}</title>
    <published>${createdAt.toISOString()}</published>
    <updated>${updatedAt.toISOString()}</updated>
    <author><name>${escapeXml(sellerAddress)}</name></author>
    <link rel="alternate" type="text/html" href="${page}"/>
    <category term="${escapeXml(category)}"/>
    <summary>${escapeXml(termsOf(listing))}</summary>
    <content type="text">${escapeXml(description)}</content>
  </entry>
`;
}

/** @example "2.5 USDC per request, on base" */
function termsOf({ price, currency, priceUnit, network }: PublishedListing): string {
  return `${price} ${currency} ${priceUnit.replaceAll("_", " ")}, on ${network}`;
}
