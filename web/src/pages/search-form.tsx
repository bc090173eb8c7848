import { NETWORKS } from "../data/answers.ts";
import type { Categories } from "../data/answers.ts";
import { QUERY_LENGTH } from "../data/search.ts";
import type { SearchQuery } from "../data/search.ts";
import { networkName } from "../words/names.ts";

const SCORES = ["0.25", "0.5", "0.75", "0.9"];

/** A box that leads to the search. It works without JavaScript. */
export function SearchForm() {
  return (
    <form class="search" action="/search" method="get" role="search">
      <SearchBox query="" />
    </form>
  );
}

const NEED = "What do you need?";

/** The words of a search, and its button. @param query what is looked for at first @param name what the box is called */
export function SearchBox({
  query,
  name = NEED,
  maxLength = QUERY_LENGTH,
}: {
  query: string;
  name?: string;
  maxLength?: number;
}) {
  return (
    <div class="box">
      <input
        type="search"
        name="q"
        defaultValue={query}
        maxLength={maxLength}
        aria-label={name}
        placeholder={name}
        autocomplete="off"
        enterkeyhint="search"
      />
      <button type="submit">Search</button>
    </div>
  );
}

/** The filters of a search. @param start what they are set to at first */
export function SearchFilters({ start, categories }: { start: SearchQuery; categories: Categories["categories"] }) {
  const slugs = categories.flatMap(({ children }) => children.map(({ slug }) => slug));
  const isScoreListed = start.minScore === "" || SCORES.includes(start.minScore);
  return (
    <div class="filters">
      <label>
        Network
        <select name="network">
          <option value="">Any</option>
          {NETWORKS.map((network) => (
            <option key={network} value={network} selected={network === start.network}>
              {networkName(network)}
            </option>
          ))}
        </select>
      </label>
      <label>
        Category
        <select name="category">
          <option value="">Any</option>
          {start.category !== "" && !slugs.includes(start.category) && (
            <option value={start.category} selected>
              {start.category}
            </option>
          )}
          {categories.map(({ label, children }) => (
            <optgroup key={label} label={label}>
              {children.map(({ slug, label: name }) => (
                <option key={slug} value={slug} selected={slug === start.category}>
                  {name}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </label>
      <label>
        Price up to, in USD
        <input name="maxPrice" inputMode="decimal" defaultValue={start.maxPrice} size={8} autocomplete="off" />
      </label>
      <label>
        Trust in the seller
        <select name="minScore">
          <option value="">Any</option>
          {!isScoreListed && (
            <option value={start.minScore} selected>
              {start.minScore} or more
            </option>
          )}
          {SCORES.map((score) => (
            <option key={score} value={score} selected={score === start.minScore}>
              {score} or more
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}
