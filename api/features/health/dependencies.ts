import type { Connection } from "mongoose";

import type { ChainClient } from "../../chain/chain-client.ts";
import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import type { Dependency } from "./service.ts";

/** What the checks look at. */
export interface DependencySources {
  connection: Connection;
  chains: Readonly<Record<Network, Pick<ChainClient, "head">>>;
  indexers: Readonly<Record<Network, Pick<Indexer, "head">>>;
  search: { listings(): Promise<number>; isFollowing(): boolean };
}

/** The database, the search index, and for each network its RPC server and its subgraph with how far it is behind the chain. */
export function createDependencies({ connection, chains, indexers, search }: DependencySources): Dependency[] {
  const database: Dependency = {
    name: "mongodb",
    async check() {
      await connection.getClient().db("admin").command({ ping: 1 });
      return {};
    },
  };
  const searchIndex: Dependency = {
    name: "search",
    async check() {
      if (!search.isFollowing()) throw new Error("The search index does not follow the listings");
      return { listings: await search.listings() };
    },
  };
  const ofNetwork = (network: Network): Dependency[] => [
    {
      name: `rpc:${network}`,
      async check() {
        const { number, timestamp } = await chains[network].head();
        return { headBlock: number, headTimestamp: new Date(timestamp * 1000).toISOString() };
      },
    },
    {
      name: `subgraph:${network}`,
      async check() {
        const [chain, indexed] = await Promise.all([chains[network].head(), indexers[network].head()]);
        if (indexed.hasIndexingErrors) throw new Error(`The subgraph of ${network} has stopped with an indexing error`);
        const blocksBehind = Math.max(0, chain.number - indexed.number);
        return { indexedBlock: indexed.number, blocksBehind };
      },
    },
  ];
  return [database, searchIndex, ...NETWORKS.flatMap(ofNetwork)];
}
