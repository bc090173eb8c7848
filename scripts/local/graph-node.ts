import { serveOnLoopback } from "./loopback-server.ts";
import type { NetworkName } from "./networks.ts";
import { PROGRAMS } from "./paths.ts";
import type { LocalPostgres } from "./postgres.ts";
import type { ServiceDefinition } from "./supervisor.ts";

/** The four ports on which one graph-node listens. */
export interface GraphPorts {
  readonly http: number;
  readonly index: number;
  readonly admin: number;
  readonly metrics: number;
}

const DUMMY_PATIENCE_MS = 10_000;
/** Postgres error codes for a missing table or schema. */
const UNDEFINED_TABLE = "42P01";

/** Options of a graph-node that serves one network. */
export interface GraphNodeOptions {
  readonly network: NetworkName;
  readonly ports: GraphPorts;
  readonly rpcPort: number;
  readonly ipfsPort: number;
  readonly postgresUrl: string;
  /** Absolute paths of the manifests: the one to serve, and the one that indexes nothing. */
  readonly manifest: string;
  readonly dummyManifest: string;
}

/** The name of a network's subgraph in graph-node. */
export function subgraphName(network: NetworkName): string {
  return `marketplace/${network}`;
}

/** The GraphQL endpoint of a network's subgraph. */
export function subgraphUrl(httpPort: number, network: NetworkName): string {
  return `http://127.0.0.1:${String(httpPort)}/subgraphs/name/${subgraphName(network)}`;
}

/** The name of a network's graph-node in the supervisor. */
export function graphServiceName(network: NetworkName): string {
  return `graph-${network}`;
}

/** One graph-node; several on one database serve several networks. Ready when the subgraph answers. */
export function graphNodeService(options: GraphNodeOptions): ServiceDefinition {
  const { network, ports } = options;
  return {
    name: graphServiceName(network),
    command: PROGRAMS.gnd,
    args: [
      ...["dev", "--manifests", `${options.dummyManifest}:.`, "--postgres-url", options.postgresUrl],
      ...["--ethereum-rpc", `${network}:http://127.0.0.1:${String(options.rpcPort)}`],
      ...["--ipfs", `http://127.0.0.1:${String(options.ipfsPort)}`],
      ...["--http-port", String(ports.http), "--index-node-port", String(ports.index)],
      ...["--admin-port", String(ports.admin), "--metrics-port", String(ports.metrics)],
    ],
    env: {
      GRAPH_NODE_ID: network.replaceAll("-", "_"),
      // graph-node indexes what is in --manifests from scratch at every start, and resumes what is here.
      SUBGRAPH: `${subgraphName(network)}:${options.manifest}`,
      GRAPH_MIN_HISTORY_BLOCKS: "100000",
      GRAPH_STORE_DISABLE_CHAIN_HEAD_PTR_CACHE: "true",
      ETHEREUM_POLLING_INTERVAL: "50",
      // Where RUST_BACKTRACE is set, it captures a backtrace many times per handler, and indexes several times more slowly.
      RUST_LIB_BACKTRACE: "0",
      // At "info" it logs four lines a block.
      GRAPH_LOG: process.env["GRAPH_LOG"] ?? "warn",
    },
    stage: 1,
    // SIGTERM doesn't stop it. After SIGINT it aborts, which is normal.
    stop: { signal: "SIGINT", timeoutMs: 2_000 },
    isReady: async () => await isServing(subgraphUrl(ports.http, network)),
  };
}

/**
 * Two graph-nodes on one database must not start concurrently. Each `gnd` removes and deploys what is in `--manifests`
 * under the same name, and one that loses its deployment in between exits silently. Call this before starting one.
 * @returns a function that waits until graph-node has deployed its dummy; at most a few seconds, because nothing else needs
 * the dummy
 */
export async function awaitDummy(postgres: LocalPostgres, dummyManifest: string): Promise<() => Promise<void>> {
  const newest = async (): Promise<number> => {
    const sql = "SELECT max(vid) AS vid FROM subgraphs.subgraph_version WHERE deployment = $1";
    try {
      const { rows } = await postgres.query(sql, [dummyManifest]);
      return Number((rows[0] as { vid: string | null } | undefined)?.vid ?? 0);
    } catch (error) {
      // The table doesn't exist before the first start.
      if ((error as { code?: string }).code === UNDEFINED_TABLE) return 0;
      throw error;
    }
  };
  const before = await newest();
  return async () => {
    const giveUpAt = performance.now() + DUMMY_PATIENCE_MS;
    while ((await newest()) <= before && performance.now() < giveUpAt) {
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  };
}

/**
 * Makes graph-node notice a block at once. Its listener batches notifications until half a second passes without one or
 * 128 have arrived, and frequent blocks can keep it batching. So each new chain head sends 128 notifications; they
 * differ, because Postgres merges equal ones within a transaction.
 */
export async function hurryChainHeadListener(postgres: LocalPostgres): Promise<void> {
  await postgres.query(`
    CREATE OR REPLACE FUNCTION public.hurry_chain_head_listener() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      FOR i IN 1..128 LOOP
        PERFORM pg_notify('chain_head_updates', json_build_object('network_name', NEW.name,
          'head_block_hash', NEW.head_block_hash, 'head_block_number', NEW.head_block_number, 'n', i)::text);
      END LOOP;
      RETURN NULL;
    END $$;
    CREATE OR REPLACE TRIGGER hurry_chain_head_listener AFTER UPDATE ON public.ethereum_networks
      FOR EACH ROW WHEN (NEW.head_block_hash IS DISTINCT FROM OLD.head_block_hash)
      EXECUTE FUNCTION public.hurry_chain_head_listener();`);
}

/**
 * The minimum of an IPFS node that graph-node requires. Manifests come from disk, and nothing is ever fetched.
 * @returns a function that stops it
 */
export async function serveIpfsVersion(port: number): Promise<() => Promise<void>> {
  return await serveOnLoopback(port, (request, response) => {
    const known = request.url?.startsWith("/api/v0/version") === true;
    response.writeHead(known ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(known ? { Version: "0.0.0-local" } : { Message: "This node keeps no files." }));
  });
}

async function isServing(url: string): Promise<boolean> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: "{ _meta { block { number } hasIndexingErrors } }" }),
  });
  const answer = (await response.json()) as { data?: { _meta?: { hasIndexingErrors: boolean } | null } | null };
  return answer.data?._meta?.hasIndexingErrors === false;
}
