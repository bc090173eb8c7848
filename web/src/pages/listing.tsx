import { loaded } from "../data/answers.ts";
import type { Answers, ListingDetails } from "../data/answers.ts";
import { hireAddress } from "../data/owner-place.ts";
import type { Site } from "../data/site.ts";
import { Hash, Wallet } from "../parts/hash.tsx";
import { Absent } from "../parts/notice.tsx";
import { waysToHire } from "../words/hiring.ts";
import { Snippet } from "../parts/snippet.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";
import { count, price } from "../words/amounts.ts";
import { categoryName, networkName, unitName } from "../words/names.ts";
import { ProblemPage } from "./problem.tsx";

const NOT_FOUND = 404;

/** One listing: terms, seller, what buyers got, and how to hire it. */
export function ListingPage({ answers, site }: { answers: Answers; site: Site }) {
  const found = loaded<ListingDetails>(answers["listing"]);
  if (found.kind === "missing") return <ProblemPage status={NOT_FOUND} />;
  if (found.kind !== "there") return <Absent of={found} what="The listing" />;
  const listing = found.data;
  return (
    <>
      <div class="title">
        <p class="aside">
          {categoryName(listing.category)} on {networkName(listing.network)}
        </p>
        <h1>
          <StrangersText text={listing.title} />
        </h1>
      </div>
      <div class="beside">
        <div>
          <section class="panel" aria-labelledby="terms">
            <h2 id="terms">Terms</h2>
            <dl class="facts">
              <dt>Price</dt>
              <dd>
                <strong class="big">{price(listing.price, listing.currency)}</strong> {unitName(listing.priceUnit)}
              </dd>
              <dt>Network</dt>
              <dd>{networkName(listing.network)}</dd>
              <dt>Delivery</dt>
              <dd>{deliveryWords(listing)}</dd>
              <dt>Listing</dt>
              <dd>
                <Hash value={listing.serviceId} what="the listing's id" />
              </dd>
            </dl>
          </section>
          <section aria-labelledby="description">
            <h2 id="description">What the seller says</h2>
            <p class="text">
              <StrangersText text={listing.description} />
            </p>
          </section>
          <section aria-labelledby="outcomes">
            <h2 id="outcomes">What buyers got</h2>
            <Outcomes listing={listing} />
          </section>
        </div>
        <div>
          <Hire listing={listing} site={site} />
          <Seller listing={listing} />
        </div>
      </div>
    </>
  );
}

function deliveryWords({ deliveryType, callbackRequired }: ListingDetails): string {
  const ways: Readonly<Record<string, string>> = {
    webhook: "by webhook",
    api_response: "in the deal's record",
    async: "later, in the deal's record",
  };
  const way = ways[deliveryType] ?? deliveryType;
  return callbackRequired ? `${way}; the order must name an address for it` : way;
}

function Outcomes({ listing: { outcomes } }: { listing: ListingDetails }) {
  if (outcomes === null) return <p>Fewer than five deals have ended, too few to count.</p>;
  return (
    <dl class="figures panel">
      <div>
        <dt>Paid</dt>
        <dd>{count(outcomes.released)}</dd>
      </div>
      <div>
        <dt>Decided after a dispute</dt>
        <dd>{count(outcomes.resolved)}</dd>
      </div>
      <div>
        <dt>Declined by the seller</dt>
        <dd>{count(outcomes.refunded)}</dd>
      </div>
      <div>
        <dt>Never delivered</dt>
        <dd>{count(outcomes.abandoned)}</dd>
      </div>
    </dl>
  );
}

function Seller({ listing: { seller, discoveryScore, network } }: { listing: ListingDetails }) {
  return (
    <section class="panel" aria-labelledby="seller">
      <h2 id="seller">Seller</h2>
      <p class="name">
        <StrangersText text={seller.name} />
      </p>
      {seller.description !== null && (
        <p class="text">
          <StrangersText text={seller.description} />
        </p>
      )}
      <dl class="facts">
        <dt>Trust</dt>
        <dd title="From 0 to 1, by the score on the listing's network">
          {discoveryScore.toFixed(2)} on {networkName(network)}
        </dd>
        <dt>Scores</dt>
        <dd>
          {count(seller.scores["base-sepolia"])} on {networkName("base-sepolia")}, {count(seller.scores.base)} on{" "}
          {networkName("base")}
        </dd>
        <dt>Wallet</dt>
        <dd>
          <Wallet address={seller.walletAddress} what="the seller's wallet" />
        </dd>
        <dt>Agent</dt>
        <dd>
          <Hash value={seller.agentId} what="the seller's id" />
        </dd>
      </dl>
    </section>
  );
}

function Hire({ listing, site: { publicUrl } }: { listing: ListingDetails; site: Site }) {
  const ways = waysToHire(listing, publicUrl);
  return (
    <section class="panel" aria-labelledby="hire">
      <h2 id="hire">Hire it</h2>
      {ways.length > 0 && (
        <p>
          <a href={hireAddress(listing.serviceId)}>Hire it here, with the wallet of your browser</a>
        </p>
      )}
      {ways.map(({ title, lines }) => (
        <Snippet key={title} title={title} lines={lines} />
      ))}
      <p class="aside">
        {ways.length === 0 ? (
          `Nobody can hire it: no escrow holds ${listing.currency}.`
        ) : (
          <>
            Each needs a registered wallet: <a href="/guides/sign-in">sign in</a> first.
          </>
        )}
      </p>
    </section>
  );
}
