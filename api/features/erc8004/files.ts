import { ApiError } from "../../http/errors.ts";
import { plainText, prepareText } from "../../http/prepared-text.ts";
import type { PreparedText } from "../../http/prepared-text.ts";
import { Kept, KeptByKey } from "../../lib/kept.ts";
import type { AgentDirectory } from "../agents/directory.ts";
import type { IdentityLinks } from "./links.ts";
import { describeDomain, describeRegistration } from "./registration-file.ts";

/** How long files are kept in the process. Tests shorten it. */
export interface RegistrationTimings {
  registrationMaxAgeMs: number;
}

export const REGISTRATION_TIMINGS: RegistrationTimings = { registrationMaxAgeMs: 30_000 };

/** Identities in the service's list, those linked last. */
export const MAX_REGISTRATIONS = 1_000;
/** Agents whose files are kept. */
const KEPT_FILES = 1_000;

/** Dependencies of the files. */
export interface RegistrationFilesDeps {
  publicUrl: string;
  directory: Pick<AgentDirectory, "byId">;
  links: Pick<IdentityLinks, "ofAgent" | "newest">;
  /** Counts a call of a client by its address. @throws ApiError `rate_limit_exceeded` */
  countClient: (ip: string) => Promise<unknown>;
  timings: RegistrationTimings;
}

/**
 * The registration files of agents and of the service. What they say of a registry was read when the identity was linked: their
 * readers ask the registry itself, as the standard has it, so no call of a stranger is one to the chain.
 */
export class RegistrationFiles {
  readonly #deps: RegistrationFilesDeps;
  /** By the agent's id. */
  readonly #files: KeptByKey<PreparedText>;
  readonly #domain: Kept<PreparedText>;

  constructor(deps: RegistrationFilesDeps) {
    this.#deps = deps;
    const maxAgeMs = deps.timings.registrationMaxAgeMs;
    this.#files = new KeptByKey({ maxAgeMs, maxEntries: KEPT_FILES });
    this.#domain = new Kept(
      async () =>
        prepareText(JSON.stringify(describeDomain(await deps.links.newest(MAX_REGISTRATIONS))), { isQuick: true }),
      maxAgeMs,
    );
  }

  /**
   * The file of an agent that has linked an identity. A kept one costs next to nothing; a new one counts as a call of the client that asked for it.
   * @param ip address of the client
   * @throws ApiError `not_found`, `rate_limit_exceeded`
   */
  ofAgent(agentId: string, ip: string): Promise<PreparedText> {
    // Another client's limit isn't this one's.
    return this.#files.readAs(agentId, () => this.#describe(agentId, ip));
  }

  /** The identities of the service's agents. */
  ofDomain(): Promise<PreparedText> {
    return this.#domain.get();
  }

  async #describe(agentId: string, ip: string): Promise<PreparedText> {
    const { publicUrl, directory, links, countClient } = this.#deps;
    await countClient(ip);
    const [agent, linked] = await Promise.all([directory.byId(agentId), links.ofAgent(agentId)]);
    // An agent publishes its name, description and wallet by linking an identity.
    if (linked.length === 0) throw new ApiError("not_found", { details: { agentId } });
    return plainText(JSON.stringify(describeRegistration(publicUrl, agent, linked)));
  }
}
