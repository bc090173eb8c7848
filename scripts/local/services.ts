/** The services that `--only` can name, in the order of the help text. */
export const SERVICES = ["chains", "postgres", "graph", "mongo", "api", "worker"] as const;

/** One of the services. */
export type Service = (typeof SERVICES)[number];

type Environment = Readonly<Record<string, string | undefined>>;

/** Thrown when `--only` names a service that does not exist. */
export class UnknownServiceError extends Error {
  constructor(name: string) {
    super(`There is no service "${name}"; the services are ${SERVICES.join(", ")}.`);
    this.name = "UnknownServiceError";
  }
}

const NEEDS: Readonly<Record<Service, readonly Service[]>> = {
  chains: [],
  postgres: [],
  graph: ["chains", "postgres"],
  mongo: [],
  api: ["chains", "graph", "mongo"],
  worker: ["chains", "graph", "mongo"],
};

/** The variables that say where an external service runs. */
const ELSEWHERE: Readonly<Partial<Record<Service, readonly string[]>>> = {
  chains: ["RPC_URL_BASE_SEPOLIA", "RPC_URL_BASE"],
  graph: ["SUBGRAPH_URL_BASE_SEPOLIA", "SUBGRAPH_URL_BASE"],
  mongo: ["MONGODB_URI"],
};

/**
 * The services to start: all, or those named and what they need, except dependencies that the environment says run
 * elsewhere.
 * @throws UnknownServiceError
 */
export function servicesToStart(only: readonly string[] | undefined, env: Environment): ReadonlySet<Service> {
  if (only === undefined) return new Set(SERVICES);
  const chosen = new Set<Service>();
  const add = (service: Service): void => {
    if (chosen.has(service)) return;
    chosen.add(service);
    for (const needed of NEEDS[service]) if (!runsElsewhere(needed, env)) add(needed);
  };
  for (const name of only) {
    if (!isService(name)) throw new UnknownServiceError(name);
    add(name);
  }
  return chosen;
}

function runsElsewhere(service: Service, env: Environment): boolean {
  const variables = ELSEWHERE[service];
  return variables?.every((name) => (env[name] ?? "") !== "") ?? false;
}

function isService(name: string): name is Service {
  return (SERVICES as readonly string[]).includes(name);
}
