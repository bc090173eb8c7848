import type { Answers } from "./data/answers.ts";
import type { Route } from "./data/route.ts";
import type { Site } from "./data/site.ts";
import { AgentPage } from "./pages/agent.tsx";
import { DealPage } from "./pages/deal.tsx";
import { DisputesPage } from "./pages/disputes.tsx";
import { ListingPage } from "./pages/listing.tsx";
import { MarketPage } from "./pages/market.tsx";
import { SearchPage } from "./pages/search.tsx";
import { StatusPage } from "./pages/status.tsx";
import { Frame } from "./parts/frame.tsx";

/** What a page shows. */
export interface View {
  route: Route;
  answers: Answers;
  site: Site;
}

/** A whole page: the same on the server and in the browser. */
export function App({ route, answers, site }: View) {
  return (
    <Frame site={site} current={route.address.split("?")[0] ?? ""}>
      {route.page === "market" && <MarketPage answers={answers} window={route.subject} site={site} />}
      {route.page === "search" && <SearchPage key={route.address} address={route.address} answers={answers} />}
      {route.page === "listing" && <ListingPage answers={answers} site={site} />}
      {route.page === "agent" && <AgentPage answers={answers} />}
      {route.page === "deal" && <DealPage answers={answers} />}
      {route.page === "disputes" && (
        <DisputesPage answers={answers} network={route.subject === "" ? undefined : route.subject} />
      )}
      {route.page === "status" && <StatusPage answers={answers} />}
    </Frame>
  );
}
