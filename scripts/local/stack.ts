import { mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";

import { apiService, given, workerService } from "./api-service.ts";
import type { ApiOptions } from "./api-service.ts";
import { chainService, keepChainBackup, repairChainState } from "./chain.ts";
import { buildClientPackages } from "./client-packages.ts";
import { buildContracts, deployContracts, deploymentFile, requireDeployment } from "./contracts.ts";
import type { ContractScope } from "./contracts.ts";
import { contractFacts, testAccounts, writeFacts } from "./facts.ts";
import type { StackFacts } from "./facts.ts";
import { awaitDummy, graphNodeService, hurryChainHeadListener, serveIpfsVersion, subgraphUrl } from "./graph-node.ts";
import { findMongo, mongoService, mongoUri, withDatabase } from "./mongo.ts";
import { CHAIN_IDS, NETWORKS } from "./networks.ts";
import type { NetworkName } from "./networks.ts";
import { orphanBlocksFile, serveOrphanBlocks } from "./orphan-blocks.ts";
import { CACHE_DIR, ROOT } from "./paths.ts";
import { assertPlatform } from "./platform.ts";
import { assertPortsFree } from "./ports.ts";
import type { PortUse } from "./ports.ts";
import { LocalPostgres } from "./postgres.ts";
import { loadSecrets } from "./secrets.ts";
import { servicesToStart } from "./services.ts";
import type { Service } from "./services.ts";
import { stackPorts } from "./stack-ports.ts";
import type { StackPorts } from "./stack-ports.ts";
import { compileSubgraph, renderDummySubgraph, renderSubgraph } from "./subgraph-build.ts";
import { StackStoppedError, Supervisor } from "./supervisor.ts";
import { townService } from "./town-service.ts";
import { buildWebBundle } from "./web-bundle.ts";

/** The services to start, and where. */
export interface StackOptions {
  /** Holds all data, logs and facts of the stack. */
  readonly dir: string;
  /** First of the stack's consecutive ports; the well-known ports by default. */
  readonly portBase?: number | undefined;
  /** Overrides the API's port. */
  readonly apiPort?: number | undefined;
  /** Services to start, with what they need; all by default. */
  readonly only?: readonly string[] | undefined;
  /** Remove the data of earlier runs. Downloads and compiler output stay. */
  readonly fresh?: boolean | undefined;
  /**
   * For tests: its services do without what they need to resume after a kill. Saving its state costs a chain half of the
   * CPU time that it takes when idle.
   */
  readonly disposable?: boolean | undefined;
  /** Start the scripted buyers and sellers too; they need every other service. */
  readonly agents?: boolean | undefined;
  /** Contracts to compile; all by default, as tests need them. */
  readonly contracts?: ContractScope | undefined;
  /** Receives a line for each step. */
  readonly log?: ((line: string) => void) | undefined;
  /** Aborts the start and stops what it has started. */
  readonly signal?: AbortSignal | undefined;
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

/** A running stack. */
export interface Stack {
  readonly facts: StackFacts;
  /** Path of the facts file. */
  readonly factsPath: string;
  /** Process ids by service. */
  readonly pids: Readonly<Record<string, number>>;
  /** Rejects when a service has ended by itself and the others have been stopped. Never resolves. */
  readonly failure: Promise<never>;
  /** Stops all services in order. */
  stop(): Promise<void>;
}

/** When to report a slow step for the first time, and how often after that. */
const FIRST_TOLD_MS = 3_000;
const STILL_AT_WORK_MS = 10_000;
/** Files and folders that `--fresh` removes from a stack's directory. The logs stay. */
const DATA = [
  "chains",
  "deployments",
  "mongo",
  "postgres",
  "search",
  "subgraph",
  "secrets.json",
  "stack.json",
  "town.json",
];

/**
 * Starts the local stack and waits until all of it is ready. It resumes where an earlier run in the same directory
 * stopped, whether that was stopped or killed.
 * @throws PortTakenError, StackRunningError, ServiceFailedError, NoMongoError, UnsupportedPlatformError,
 * UnknownServiceError; after stopping what had been started
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const env = options.env ?? process.env;
  const services = servicesToStart(options.only, env);
  assertPlatform(services);
  const dir = resolve(options.dir);
  mkdirSync(dir, { recursive: true });
  const log = options.log ?? (() => undefined);
  const supervisor = await Supervisor.open(dir, log);
  const { disposable: isDisposable = false, agents: hasAgents = false, contracts = "all" } = options;
  const ports = stackPorts(options.portBase, options.apiPort);
  const start = new StackStart({ supervisor, services, ports, dir, env, log, isDisposable, hasAgents, contracts });
  const stop = async (): Promise<void> => {
    await supervisor.stop(log);
    await start.end();
  };
  const stopOnAbort = (): void => void stop();
  options.signal?.addEventListener("abort", stopOnAbort);
  try {
    if (options.signal?.aborted === true) throw new StackStoppedError();
    if (options.fresh === true) for (const name of DATA) rmSync(join(dir, name), { recursive: true, force: true });
    const facts = await Promise.race([start.run(), supervisor.failure]);
    const failure = supervisor.failure.catch(async (error: unknown) => {
      log(error instanceof Error ? error.message : String(error));
      await stop();
      throw error;
    });
    failure.catch(() => undefined);
    return { facts, factsPath: writeFacts(dir, facts), pids: supervisor.pids, failure, stop };
  } catch (error) {
    await stop();
    throw error;
  } finally {
    options.signal?.removeEventListener("abort", stopOnAbort);
  }
}

/** The parts that a start works with. */
interface StartOptions {
  readonly supervisor: Supervisor;
  readonly services: ReadonlySet<Service>;
  readonly ports: StackPorts;
  readonly dir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: (line: string) => void;
  readonly isDisposable: boolean;
  readonly hasAgents: boolean;
  readonly contracts: ContractScope;
}

/** One start of a stack: its steps and their results. */
class StackStart {
  readonly #supervisor: Supervisor;
  readonly #services: ReadonlySet<Service>;
  readonly #ports: StackPorts;
  readonly #dir: string;
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #log: (line: string) => void;
  readonly #isDisposable: boolean;
  readonly #hasAgents: boolean;
  readonly #contracts: ContractScope;
  readonly #ends: (() => unknown)[] = [];

  constructor({ supervisor, services, ports, dir, env, log, isDisposable, hasAgents, contracts }: StartOptions) {
    this.#supervisor = supervisor;
    this.#services = services;
    this.#ports = ports;
    this.#dir = dir;
    this.#env = env;
    this.#log = log;
    this.#isDisposable = isDisposable;
    this.#hasAgents = hasAgents;
    this.#contracts = contracts;
  }

  async run(): Promise<StackFacts> {
    await assertPortsFree(this.#portUses(), "with --port-base N (all) or PORT=N (the API alone)");
    const needsContracts = ["chains", "api", "worker"].some((service) => this.#services.has(service as Service));
    const contracts = needsContracts ? this.#buildContracts() : Promise.resolve();
    const chains = this.#services.has("chains") ? this.#startChains() : Promise.resolve();
    const deployed = this.#services.has("chains") ? this.#deploy(contracts, chains) : contracts;
    const postgres = this.#services.has("postgres") ? this.#startPostgres() : undefined;
    const graph =
      this.#services.has("graph") && postgres !== undefined
        ? this.#startGraph(deployed, this.#compileSubgraph(), postgres)
        : Promise.resolve();
    const mongo = this.#services.has("mongo") ? this.#startMongo() : Promise.resolve(this.#env["MONGODB_URI"]);
    const downloads = this.#services.has("api") ? this.#packClient() : Promise.resolve("");
    const web = this.#services.has("api") ? this.#buildPages() : Promise.resolve("");
    // One failure causes others: report the first error, and handle its consequences here too.
    const parts = [contracts, chains, deployed, postgres ?? graph, graph] as const;
    const [mongodbUri, downloadsDir, webDir] = await Promise.all([mongo, downloads, web, ...parts]);
    const facts = await this.#infrastructureFacts(mongodbUri);
    await this.#startApi(facts, { downloadsDir, webDir });
    if (!this.#services.has("api")) return facts;
    const api = `http://127.0.0.1:${String(this.#ports.api)}`;
    const whole = { api, apiDocs: `${api}/docs`, ...facts };
    if (this.#hasAgents) await this.#startTown(whole);
    return whole;
  }

  /** Stops what isn't a separate process. */
  async end(): Promise<void> {
    for (const end of this.#ends.splice(0)) await end();
  }

  async #buildContracts(): Promise<void> {
    await this.#step("compile of the contracts", () =>
      buildContracts(this.#run, this.#supervisor.stopped, this.#contracts),
    );
  }

  async #startChains(): Promise<void> {
    await Promise.all(
      NETWORKS.map(async (network) => {
        const port = this.#ports.chains[network];
        if (repairChainState(network, this.#dir)) {
          this.#log(`the state of the chain ${network} was cut short by a kill: its backup is used`);
        }
        await this.#step(`chain ${network} on port ${String(port)}`, async () => {
          await this.#supervisor.start(chainService(network, this.#dir, port, this.#isDisposable));
        });
        if (!this.#isDisposable) this.#ends.push(keepChainBackup(network, this.#dir));
      }),
    );
  }

  async #deploy(contracts: Promise<void>, chains: Promise<void>): Promise<void> {
    await Promise.all([contracts, chains]);
    mkdirSync(this.#deployments, { recursive: true });
    await Promise.all(
      NETWORKS.map(async (network) => {
        const port = this.#ports.chains[network];
        await this.#step(`contracts on ${network}`, () => deployContracts(network, port, this.#deployments, this.#run));
      }),
    );
  }

  async #compileSubgraph(): Promise<string> {
    return await this.#step("compile of the subgraph", () => compileSubgraph(CACHE_DIR, this.#run));
  }

  async #packClient(): Promise<string> {
    return await this.#step("packages of the clients", () => buildClientPackages(CACHE_DIR, this.#run));
  }

  async #buildPages(): Promise<string> {
    return await this.#step("web pages", () => buildWebBundle(CACHE_DIR, this.#run));
  }

  async #startPostgres(): Promise<LocalPostgres> {
    const postgres = new LocalPostgres(this.#dir, this.#ports.postgres, this.#isDisposable);
    await this.#step(`Postgres on port ${String(this.#ports.postgres)}`, async () => {
      await postgres.initialise(this.#run);
      await postgres.removeStaleLock();
      await this.#supervisor.start(postgres.service);
    });
    return postgres;
  }

  async #startGraph(
    deployed: Promise<void>,
    compiling: Promise<string>,
    starting: Promise<LocalPostgres>,
  ): Promise<void> {
    const [postgres, compiled] = await Promise.all([starting, compiling, deployed]);
    this.#ends.push(await serveIpfsVersion(this.#ports.ipfs));
    const outDir = join(this.#dir, "subgraph");
    for (const network of NETWORKS) {
      const deployment = await requireDeployment(network, this.#deployments);
      const ports = this.#ports.graph[network];
      const dummyManifest = renderDummySubgraph(compiled, network, outDir);
      const rpcPort = this.#ports.graphRpc[network];
      const blocks = orphanBlocksFile(network, this.#dir);
      this.#ends.push(await serveOrphanBlocks(rpcPort, this.#ports.chains[network], blocks));
      const service = graphNodeService({
        network,
        ports,
        rpcPort,
        ipfsPort: this.#ports.ipfs,
        postgresUrl: postgres.url,
        manifest: renderSubgraph(compiled, deployment, outDir),
        dummyManifest,
      });
      const others = [ports.index, ports.admin, ports.metrics].join(", ");
      const dummyIsDeployed = await awaitDummy(postgres, dummyManifest);
      await this.#step(`subgraph ${network} on port ${String(ports.http)} (and ${others}; on all addresses)`, () =>
        this.#supervisor.start(service),
      );
      await dummyIsDeployed();
    }
    await hurryChainHeadListener(postgres);
  }

  async #startMongo(): Promise<string> {
    const source = await findMongo(CACHE_DIR, this.#env, this.#log);
    if (source.kind === "uri") {
      this.#log(`MongoDB: ${source.description}`);
      return source.uri;
    }
    this.#log(`MongoDB: ${source.description} (${source.notTaken.join("; ")})`);
    const port = this.#ports.mongo;
    await this.#step(`MongoDB on port ${String(port)}`, () =>
      this.#supervisor.start(mongoService(source.path, this.#dir, port, this.#isDisposable)),
    );
    return mongoUri(port);
  }

  async #infrastructureFacts(mongodbUri: string | undefined): Promise<Omit<StackFacts, "api" | "apiDocs">> {
    const networks: Partial<Record<NetworkName, StackFacts["networks"][NetworkName]>> = {};
    const deployments: Partial<Record<NetworkName, string>> = {};
    // Either graph-node serves both networks.
    const graphPort = this.#ports.graph["base-sepolia"].http;
    for (const network of this.#services.has("chains") ? NETWORKS : []) {
      networks[network] = {
        rpcUrl: `http://127.0.0.1:${String(this.#ports.chains[network])}`,
        chainId: CHAIN_IDS[network],
        ...contractFacts(await requireDeployment(network, this.#deployments)),
        ...(this.#services.has("graph") ? { subgraphUrl: subgraphUrl(graphPort, network) } : {}),
      };
      deployments[network] = deploymentFile(this.#deployments, network);
    }
    return {
      ...(this.#services.has("graph") ? { graphql: `http://127.0.0.1:${String(graphPort)}` } : {}),
      ...(mongodbUri === undefined ? {} : { mongodbUri }),
      networks,
      deployments,
      accounts: testAccounts(),
    };
  }

  async #startApi(facts: StackFacts, built: Pick<ApiOptions, "downloadsDir" | "webDir">): Promise<void> {
    if (!this.#services.has("api") && !this.#services.has("worker")) return;
    const options = {
      port: this.#ports.api,
      ownsChains: this.#services.has("chains"),
      mongodbUri: withDatabase(facts.mongodbUri ?? ""),
      rpcUrls: this.#each((network, suffix) => facts.networks[network]?.rpcUrl ?? this.#env[`RPC_URL_${suffix}`]),
      subgraphUrls: this.#each(
        (network, suffix) => facts.networks[network]?.subgraphUrl ?? this.#env[`SUBGRAPH_URL_${suffix}`],
      ),
      deployments: this.#each(
        (network, suffix) =>
          facts.deployments[network] ??
          given(this.#env, `DEPLOYMENT_${suffix}`, join(ROOT, "deploy", "deployments", `${network}.json`)),
      ),
      searchDir: join(this.#dir, "search"),
      ...built,
      secrets: loadSecrets(this.#dir),
    };
    const starting = [];
    if (this.#services.has("api")) {
      starting.push(
        this.#step(`API on port ${String(this.#ports.api)}`, () =>
          this.#supervisor.start(apiService(options, this.#env)),
        ),
      );
    }
    if (this.#services.has("worker")) {
      starting.push(this.#step("worker", () => this.#supervisor.start(workerService(options, this.#env, this.#dir))));
    }
    await Promise.all(starting);
  }

  async #startTown(facts: StackFacts): Promise<void> {
    const service = townService(writeFacts(this.#dir, facts), this.#dir);
    await this.#step("buyers and sellers of the town", () => this.#supervisor.start(service));
  }

  /** A value for each network; the suffix is the network's name in environment variables. */
  #each(valueOf: (network: NetworkName, suffix: string) => string | undefined): Record<NetworkName, string> {
    return {
      "base-sepolia": valueOf("base-sepolia", "BASE_SEPOLIA") ?? "",
      base: valueOf("base", "BASE") ?? "",
    };
  }

  #portUses(): PortUse[] {
    const { api, chains, postgres, mongo, ipfs, graph, graphRpc } = this.#ports;
    const uses: (PortUse & { of: Service })[] = [{ of: "api", service: "the API", port: api }];
    for (const network of NETWORKS) {
      uses.push({ of: "chains", service: `the chain ${network}`, port: chains[network] });
      const { http, index, admin, metrics } = graph[network];
      for (const port of [http, index, admin, metrics]) {
        uses.push({ of: "graph", service: `graph-node (${network})`, port });
      }
      uses.push({ of: "graph", service: `the blocks of ${network} for graph-node`, port: graphRpc[network] });
    }
    uses.push({ of: "postgres", service: "Postgres", port: postgres });
    uses.push({ of: "graph", service: "the file stub of graph-node", port: ipfs });
    if ((this.#env["MONGODB_URI"] ?? "") === "") uses.push({ of: "mongo", service: "MongoDB", port: mongo });
    return uses.filter(({ of }) => this.#services.has(of));
  }

  get #deployments(): string {
    return join(this.#dir, "deployments");
  }

  get #run() {
    return this.#supervisor.run.bind(this.#supervisor);
  }

  /** Runs a step and logs how long it took; reports a slow one while it runs. */
  async #step<T>(name: string, work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const elapsed = (): string => ((performance.now() - startedAt) / 1_000).toFixed(1);
    let stillAtWork: NodeJS.Timeout;
    const tell = (): void => {
      this.#log(`${name}: at work for ${elapsed()} s …`);
      stillAtWork = setTimeout(tell, STILL_AT_WORK_MS);
    };
    stillAtWork = setTimeout(tell, FIRST_TOLD_MS);
    const result = await work().finally(() => {
      clearTimeout(stillAtWork);
    });
    const seconds = elapsed();
    this.#log(`${name}: ${result === "unchanged" ? "nothing to do" : `done after ${seconds} s`}`);
    return result;
  }
}
