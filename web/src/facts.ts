import { loaded } from "./data/answers.ts";
import type { Answers, ListingDetails } from "./data/answers.ts";
import type { Route } from "./data/route.ts";
import type { Site } from "./data/site.ts";
import { clean } from "./words/strangers-text.ts";

const MAX_DIGITS = 18;

/** What a page is about, in the words of schema.org: a listing as a service and its offer; undefined for other pages. */
export function factsOf({ page, address }: Route, answers: Answers, { publicUrl }: Site): object | undefined {
  const found = page === "listing" ? loaded<ListingDetails>(answers["listing"]) : undefined;
  if (found?.kind !== "there") return undefined;
  const { title, description, category, serviceId, seller, price, currency } = found.data;
  const url = publicUrl + address;
  return {
    "@context": "https://schema.org",
    "@type": "Service",
    name: clean(title).text,
    description: clean(description).text,
    serviceType: category,
    identifier: serviceId,
    url,
    provider: { "@type": "Organization", name: clean(seller.name).text, identifier: seller.walletAddress },
    offers: {
      "@type": "Offer",
      // A decimal number without an exponent.
      price: price.toLocaleString("en-US", { useGrouping: false, maximumFractionDigits: MAX_DIGITS }),
      priceCurrency: currency,
      url,
    },
  };
}
