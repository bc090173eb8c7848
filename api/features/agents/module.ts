import type { Connection } from "mongoose";

import type { ChainClient } from "../../chain/chain-client.ts";
import type { Network } from "../../config/constants.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import type { Clock } from "../../lib/clock.ts";
import { defineFeature } from "../feature.ts";
import { createAgentDirectory } from "./directory.ts";
import { agentJobs } from "./jobs.ts";
import { createAgentModels } from "./model.ts";
import { registryRoutes } from "./registry-routes.ts";
import type { RegistryDeps } from "./registry-routes.ts";
import { createAgentRegistry } from "./registry.ts";
import { agentRoutes } from "./routes.ts";
import type { AgentsDeps, ScoreReader } from "./routes.ts";
import { createSimilarNames } from "./similar-names.ts";
import { createStandingsSync, standingCursors } from "./standings-sync.ts";
import { createStandings } from "./standings.ts";
import type { DeclinesOf, ScoreListener } from "./standings.ts";
import { trustRoutes } from "./trust-routes.ts";
import type { TrustDeps } from "./trust-routes.ts";

/** Dependencies of the agents feature. */
export interface AgentsModuleDeps {
  connection: Connection;
  chains: Readonly<Record<Network, ScoreReader & Pick<ChainClient, "block">>>;
  indexers: Readonly<Record<Network, Indexer>>;
  clock: Clock;
  declinesOf: DeclinesOf;
  /** Called with every score that is copied from a subgraph. */
  onScores: ScoreListener;
}

/** Registered agents, their scores and their trading history. */
export const agentsModule = defineFeature({
  routes: [...agentRoutes, ...registryRoutes, ...trustRoutes],
  create({ connection, chains, indexers, clock, declinesOf, onScores }: AgentsModuleDeps) {
    const models = createAgentModels(connection);
    const directory = createAgentDirectory(models);
    const standings = createStandings({ models, indexers, clock, declinesOf, onScores });
    const cursors = standingCursors(connection);
    const syncStandings = createStandingsSync({ models, cursors, copies: standings, indexers, chains });
    const similarNames = createSimilarNames(models);
    const services: AgentsDeps & RegistryDeps & TrustDeps = {
      agents: directory,
      standings,
      scoreReaders: chains,
      historyReaders: indexers,
      declinesOf,
      agentRegistry: createAgentRegistry({ models, standings, similarNames }),
    };
    return { services, jobs: agentJobs(syncStandings), models, directory, standings };
  },
});
