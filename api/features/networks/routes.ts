import { z } from "zod";

import type { ChainClient } from "../../chain/chain-client.ts";
import { caip2Of, EXPLORERS, NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import type { Env } from "../../config/env.ts";
import { addressOutput, listOf, networkSchema } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import { withTimeout } from "../../lib/timeout.ts";

/** Dependencies of the network route. */
export interface NetworksDeps {
  chains: Readonly<Record<Network, Pick<ChainClient, "chainId" | "deployment" | "head" | "token">>>;
  env: Pick<Env, "x402">;
  indexers: Readonly<Record<Network, Pick<Indexer, "head">>>;
  publicSubgraphUrls: Readonly<Record<Network, string | null>>;
}

/** Maximum wait for a chain or a subgraph, in milliseconds. After that its value is null. */
const PROBE_TIMEOUT_MS = 2_000;

const blockNumber = z.number().int().nullable();

const networkOutput = z
  .object({
    network: networkSchema,
    chainId: z.number().int(),
    caip2: z.string().meta({ examples: ["eip155:84532"] }),
    contracts: z.object({ escrow: addressOutput, score: addressOutput, resolver: addressOutput }),
    tokens: z.array(z.object({ symbol: z.string(), address: addressOutput, decimals: z.number().int() })),
    payments: z
      .object({ payTo: addressOutput, token: addressOutput })
      .nullable()
      .meta({ description: "Who is paid for calls by x402, and in which token; null where no call is paid for" }),
    explorerUrl: z.url(),
    subgraphUrl: z.url().nullable().meta({ description: "GraphQL endpoint of the subgraph; null if it isn't public" }),
    headBlock: blockNumber.meta({ description: "Latest block of the chain; null if its RPC server is unavailable" }),
    indexedBlock: blockNumber.meta({ description: "Latest block of the subgraph; null if it is unavailable" }),
    blocksBehind: blockNumber.meta({ description: "How far the subgraph is behind the chain" }),
  })
  .meta({ id: "NetworkStatus" });

const listNetworks = defineRoute({
  name: "networks.list",
  scope: "none",
  method: "GET",
  path: "/api/v1/networks",
  tag: "Networks",
  summary: "The settlement networks with their contracts, tokens and subgraph progress",
  auth: "none",
  limitClass: "keyless",
  budget: "none",
  query: z.strictObject({}),
  responses: { 200: listOf(networkOutput) },
}).handle(async (_request, deps: NetworksDeps) => ({
  status: 200,
  body: {
    success: true,
    data: await Promise.all(NETWORKS.map((network) => describe(network, deps))),
    nextCursor: null,
  },
}));

async function describe(network: Network, deps: NetworksDeps): Promise<z.input<typeof networkOutput>> {
  const { chainId, deployment } = deps.chains[network];
  const [headBlock, indexedBlock] = await Promise.all([
    readNumber(`rpc:${network}`, () => deps.chains[network].head()),
    readNumber(`subgraph:${network}`, () => deps.indexers[network].head()),
  ]);
  const areKnown = headBlock !== null && indexedBlock !== null;
  return {
    network,
    chainId,
    caip2: caip2Of(network),
    contracts: { escrow: deployment.escrow, score: deployment.score, resolver: deployment.resolver },
    tokens: deployment.tokens.map(({ symbol, address, decimals }) => ({ symbol, address, decimals })),
    payments: paymentsOn(network, deps),
    explorerUrl: EXPLORERS[network],
    subgraphUrl: deps.publicSubgraphUrls[network],
    headBlock,
    indexedBlock,
    blocksBehind: areKnown ? Math.max(0, headBlock - indexedBlock) : null,
  };
}

/** What a client holds a 402 against before it signs. */
function paymentsOn(network: Network, { chains, env: { x402 } }: NetworksDeps) {
  const token = chains[network].token("USDC")?.address;
  if (network !== x402.network || x402.payTo === undefined || token === undefined) return null;
  return { payTo: x402.payTo, token };
}

async function readNumber(what: string, head: () => Promise<{ number: number }>): Promise<number | null> {
  try {
    return (await withTimeout(what, PROBE_TIMEOUT_MS, head)).number;
  } catch {
    // Null means unavailable; /ready reports why.
    return null;
  }
}

export const networkRoutes = [listNetworks];
