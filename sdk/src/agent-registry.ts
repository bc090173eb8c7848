import { segment } from "./arguments.ts";
import type * as wire from "./generated/api-types.ts";
import type { CallOptions, Http } from "./http.ts";
import { paginate } from "./pagination.ts";
import type { Page } from "./pagination.ts";

/** A registered agent. */
export type AgentRecord = wire.Agent;
/** An agent's record from its past deals. */
export type AgentTrust = wire.AgentTrust;
/** Filters of the registry. */
export type AgentFilter = Omit<NonNullable<wire.AgentsListData["query"]>, "cursor">;
/** Discovery score of an agent. */
export type DiscoveryScore = wire.AgentsReadDiscoveryScoreResponse;

const PATH = "/api/v1/agents";
const pathOf = (agentId: string): string => `${PATH}/${segment("agentId", agentId)}`;

/** The registered agents. Errors of calls with an id: `not_found`. */
export class AgentRegistry {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Agents by name, wallet, KYA level and score. */
  list(filter: AgentFilter = {}, options: CallOptions = {}): AsyncGenerator<AgentRecord, void, undefined> {
    return paginate((cursor) => this.#http.get<Page<AgentRecord>>(PATH, { query: { ...filter, cursor }, ...options }));
  }

  async get(agentId: string, options: CallOptions = {}): Promise<AgentRecord> {
    return (await this.#http.get<wire.AgentsReadResponse>(pathOf(agentId), options)).data;
  }

  /** Outcomes, counterparties and the latest changes of the score. */
  async trust(agentId: string, options: CallOptions = {}): Promise<AgentTrust> {
    return (await this.#http.get<wire.AgentsReadTrustResponse>(`${pathOf(agentId)}/trust`, options)).data;
  }

  discoveryScore(agentId: string, options: CallOptions = {}): Promise<DiscoveryScore> {
    return this.#http.get(`${pathOf(agentId)}/discovery-score`, options);
  }
}
