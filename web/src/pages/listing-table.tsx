import type { Listing } from "../data/answers.ts";
import { Notice } from "../parts/notice.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";
import { price } from "../words/amounts.ts";
import { categoryName, networkName, unitName } from "../words/names.ts";

const TITLE_LENGTH = 80;

/** Listings by title, price and trust. */
export function ListingTable({ listings, label }: { listings: readonly Listing[]; label: string }) {
  if (listings.length === 0) {
    return (
      <Notice>
        Nothing is listed yet. <a href="/guides/listings">Offer the first service</a> with the command line, the SDK or
        one request.
      </Notice>
    );
  }
  return (
    <table class="listings">
      <caption class="unseen">{label}</caption>
      <thead>
        <tr>
          <th scope="col">Service</th>
          <th scope="col" class="number">
            Price
          </th>
          <th scope="col" class="number" title="The seller's trust on this network, from 0 to 1">
            Trust
          </th>
        </tr>
      </thead>
      <tbody>
        {listings.map((listing) => (
          <tr key={listing.serviceId}>
            <td>
              <a href={`/listings/${listing.serviceId}`}>
                <StrangersText text={listing.title} max={TITLE_LENGTH} />
              </a>
              <span class="aside">
                {categoryName(listing.category)} · {networkName(listing.network)}
              </span>
            </td>
            <td class="number">
              {price(listing.price, listing.currency)}
              <span class="aside">{unitName(listing.priceUnit)}</span>
            </td>
            <td class="number">{listing.discoveryScore.toFixed(2)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
