import { mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";

import type { Deployment } from "../../../deploy/system/deployment-file.ts";
import { chainService } from "../../../scripts/local/chain.ts";
import {
  buildContracts,
  deployContracts,
  deploymentFile,
  requireDeployment,
} from "../../../scripts/local/contracts.ts";
import { contractFacts, testAccounts, writeFacts } from "../../../scripts/local/facts.ts";
import {
  awaitDummy,
  graphNodeService,
  hurryChainHeadListener,
  serveIpfsVersion,
  subgraphUrl,
} from "../../../scripts/local/graph-node.ts";
import { CHAIN_IDS, NETWORKS } from "../../../scripts/local/networks.ts";
import type { NetworkName } from "../../../scripts/local/networks.ts";
import { CACHE_DIR } from "../../../scripts/local/paths.ts";
import { findFreePorts } from "../../../scripts/local/ports.ts";
import { LocalPostgres } from "../../../scripts/local/postgres.ts";
import { PORTS_PER_STACK, stackPorts } from "../../../scripts/local/stack-ports.ts";
import type { StackPorts } from "../../../scripts/local/stack-ports.ts";
import { startStack } from "../../../scripts/local/stack.ts";
import type { Stack } from "../../../scripts/local/stack.ts";
import { compileSubgraph, renderDummySubgraph, renderSubgraph } from "../../../scripts/local/subgraph-build.ts";
import { Supervisor } from "../../../scripts/local/supervisor.ts";
import type { ServiceDefinition } from "../../../scripts/local/supervisor.ts";

/** The network whose subgraph the bench measures. */
export const NETWORK = "base-sepolia";
/** How anvil saves its state: every second all of it, which would slow down a chain with many escrows. */
const STATE_ARGUMENTS = ["--state", "--state-interval"];
/** graph-node may have much to index until it is ready. */
const GRAPH_READY_MS = 600_000;

/** A chain of the local stack that keeps its state in memory only. */
function chainInMemory(network: NetworkName, dir: string, port: number) {
  const service = chainService(network, dir, port);
  const isOfState = (index: number) => STATE_ARGUMENTS.includes(service.args[index] ?? "");
  return { ...service, args: service.args.filter((_, index) => !isOfState(index) && !isOfState(index - 1)) };
}

/** A graph-node that indexes only what is deployed to its admin port. */
function withoutSubgraph(service: ServiceDefinition, httpPort: number): ServiceDefinition {
  const env = Object.fromEntries(Object.entries(service.env ?? {}).filter(([name]) => name !== "SUBGRAPH"));
  return { ...service, env, isReady: async () => (await fetch(`http://127.0.0.1:${httpPort}/`)).ok };
}

/**
 * The services of the local stack, with two differences: the chains keep their state in memory, and graph-node can be
 * stopped and started while all others run.
 */
export class IndexingStack {
  readonly ports: StackPorts;
  readonly postgres: LocalPostgres;
  readonly deployments: Readonly<Record<NetworkName, Deployment>>;
  readonly #dir: string;
  readonly #portBase: number;
  readonly #data: Stack;
  readonly #chains: Supervisor;
  readonly #compiled: string;
  readonly #stopIpfs: () => Promise<void>;
  #graph: Supervisor | undefined;
  #service: Stack | undefined;

  private constructor(
    dir: string,
    portBase: number,
    data: Stack,
    chains: Supervisor,
    deployments: Readonly<Record<NetworkName, Deployment>>,
    built: { compiled: string; stopIpfs: () => Promise<void> },
  ) {
    this.#dir = dir;
    this.#portBase = portBase;
    this.#data = data;
    this.#chains = chains;
    this.deployments = deployments;
    this.#compiled = built.compiled;
    this.#stopIpfs = built.stopIpfs;
    this.ports = stackPorts(portBase);
    this.postgres = new LocalPostgres(join(dir, "data"), this.ports.postgres);
  }

  /** Starts Postgres, MongoDB and two chains with the contracts on them, all of them empty. */
  static async start(folder: string): Promise<IndexingStack> {
    const dir = resolve(folder);
    rmSync(dir, { recursive: true, force: true });
    mkdirSync(dir, { recursive: true });
    const portBase = await findFreePorts(PORTS_PER_STACK);
    const ports = stackPorts(portBase);
    const chains = await Supervisor.open(join(dir, "chains"), () => undefined);
    const run = chains.run.bind(chains);
    const data = await startStack({ dir: join(dir, "data"), portBase, only: ["postgres", "mongo"] });
    await buildContracts(run, chains.stopped, "deployed");
    const deploymentDir = join(dir, "deployments");
    mkdirSync(deploymentDir);
    const deploy = async (network: NetworkName) => {
      await chains.start(chainInMemory(network, dir, ports.chains[network]));
      await deployContracts(network, ports.chains[network], deploymentDir, run);
      return requireDeployment(network, deploymentDir);
    };
    const [testnet, mainnet] = [await deploy("base-sepolia"), await deploy("base")];
    const built = {
      compiled: await compileSubgraph(CACHE_DIR, run),
      stopIpfs: await serveIpfsVersion(ports.ipfs),
    };
    return new IndexingStack(dir, portBase, data, chains, { "base-sepolia": testnet, base: mainnet }, built);
  }

  /** Address of the subgraph of {@link NETWORK}. */
  get subgraphUrl(): string {
    return subgraphUrl(this.ports.graph[NETWORK].http, NETWORK);
  }

  /** Runs a program to its end. */
  get run() {
    return this.#chains.run.bind(this.#chains);
  }

  /**
   * Starts the graph-nodes and waits until they answer; they may still be behind their chains.
   * @param networks by default both
   * @param served whether they index the marketplace; if not, only what is deployed to them
   */
  async startGraph(networks: readonly NetworkName[] = NETWORKS, served = true): Promise<void> {
    const graph = await Supervisor.open(join(this.#dir, "graph"), () => undefined);
    this.#graph = graph;
    const outDir = join(this.#dir, "subgraph");
    for (const network of networks) {
      const ports = this.ports.graph[network];
      const dummyManifest = renderDummySubgraph(this.#compiled, network, outDir);
      const service = graphNodeService({
        network,
        ports,
        rpcPort: this.ports.chains[network],
        ipfsPort: this.ports.ipfs,
        postgresUrl: this.postgres.url,
        manifest: this.manifestOf(network),
        dummyManifest,
      });
      const dummyIsDeployed = await awaitDummy(this.postgres, dummyManifest);
      await graph.start({
        ...(served ? service : withoutSubgraph(service, ports.http)),
        readyTimeoutMs: GRAPH_READY_MS,
      });
      await dummyIsDeployed();
    }
    await hurryChainHeadListener(this.postgres);
  }

  /** The manifest of the marketplace's subgraph. */
  manifestOf(network: NetworkName): string {
    return renderSubgraph(this.#compiled, this.deployments[network], join(this.#dir, "subgraph"));
  }

  async stopGraph(): Promise<void> {
    await this.#graph?.stop();
    this.#graph = undefined;
  }

  /** Starts API and worker as on the local stack, and names the whole stack in TEST_STACK. */
  async startService(): Promise<void> {
    const each = (valueOf: (network: NetworkName) => string) => ({
      BASE_SEPOLIA: valueOf("base-sepolia"),
      BASE: valueOf("base"),
    });
    const variables = Object.entries({
      RPC_URL: each((network) => this.#rpcUrl(network)),
      SUBGRAPH_URL: each((network) => this.#subgraphUrlOf(network)),
      DEPLOYMENT: each((network) => deploymentFile(join(this.#dir, "deployments"), network)),
    }).flatMap(([name, values]) => Object.entries(values).map(([suffix, value]) => [`${name}_${suffix}`, value]));
    const env = { ...process.env, ...Object.fromEntries(variables), MONGODB_URI: this.#data.facts.mongodbUri };
    const dir = join(this.#dir, "service");
    this.#service = await startStack({ dir, portBase: this.#portBase, only: ["api", "worker"], env });
    this.writeFacts();
  }

  /** Names the stack, as far as it runs, in TEST_STACK. */
  writeFacts(): void {
    const networks = Object.fromEntries(
      NETWORKS.map((network) => [
        network,
        {
          rpcUrl: this.#rpcUrl(network),
          chainId: CHAIN_IDS[network],
          subgraphUrl: this.#subgraphUrlOf(network),
          ...contractFacts(this.deployments[network]),
        },
      ]),
    );
    const deployments = Object.fromEntries(
      NETWORKS.map((network) => [network, deploymentFile(join(this.#dir, "deployments"), network)]),
    );
    const { mongodbUri = "" } = this.#data.facts;
    const api = this.#service?.facts.api;
    const facts = {
      mongodbUri,
      networks,
      deployments,
      accounts: testAccounts(),
      ...(api === undefined ? {} : { api }),
    };
    process.env["TEST_STACK"] = writeFacts(this.#dir, facts);
  }

  async stop(): Promise<void> {
    await this.#service?.stop();
    await this.stopGraph();
    await this.#stopIpfs();
    await this.#chains.stop();
    await this.#data.stop();
  }

  #rpcUrl(network: NetworkName): string {
    return `http://127.0.0.1:${this.ports.chains[network]}`;
  }

  #subgraphUrlOf(network: NetworkName): string {
    return subgraphUrl(this.ports.graph[network].http, network);
  }
}
