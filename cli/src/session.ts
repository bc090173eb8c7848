import { Marketplace } from "../../sdk/src/index.ts";
import type { Agent } from "../../sdk/src/index.ts";
import { callerSigner, TOOLS } from "../../tools/src/index.ts";
import type { Signer, ToolContext } from "../../tools/src/index.ts";
import { NETWORKS } from "./chains.ts";
import { profileFiles, readProfile } from "./config/profile.ts";
import type { Profile, ProfileFiles } from "./config/profile.ts";
import { EXIT } from "./exit-codes.ts";
import { CommandFailure, failureOfRefusal, usageFailure } from "./failure.ts";
import type { Output } from "./output/output.ts";
import type { Runtime } from "./runtime.ts";

/** Of the local stack; used until `init` has named another one. */
export const DEFAULT_URL = "http://127.0.0.1:3000";

/** The options of every command. */
export interface CommonOptions {
  json?: boolean;
  profile?: string;
}

/** How a tool is called. */
export interface ToolCall {
  /** Instead of one that signs nothing. */
  agent?: Agent | undefined;
  signer?: Signer | undefined;
  waitMs?: number | undefined;
  /** What a reader is told to wait for. */
  progress?: string | undefined;
}

/** What a command works with: the profile, the marketplace and the output. */
export class Session {
  readonly runtime: Runtime;
  readonly output: Output;
  readonly files: ProfileFiles;
  readonly profile: Profile | undefined;
  readonly url: string;
  readonly market: Marketplace;

  private constructor(runtime: Runtime, output: Output, files: ProfileFiles, profile: Profile | undefined) {
    const { environment } = runtime;
    this.runtime = runtime;
    this.output = output;
    this.files = files;
    this.profile = profile;
    this.url = environment.url ?? profile?.url ?? DEFAULT_URL;
    this.market = openMarket(this.url, profile);
  }

  /** @throws CommandFailure if the profile can't be read, or is one of another marketplace than the environment names */
  static async open(runtime: Runtime, options: CommonOptions): Promise<Session> {
    const { environment } = runtime;
    const files = profileFiles(environment, options.profile);
    const profile = await readProfile(files.profile);
    const { url, apiKey } = environment;
    // A key goes to the marketplace that has issued it and to no other.
    if (url !== undefined && apiKey === undefined && profile !== undefined && profile.url !== url) {
      const message = `AGENT_MARKETPLACE_URL is ${url}, and the profile ${files.name} belongs to ${profile.url}.`;
      throw usageFailure(message, "Unset AGENT_MARKETPLACE_URL, or choose another profile with --profile.");
    }
    return new Session(runtime, runtime.output(options), files, profile);
  }

  /** The networks that `init` has set up, or else all. */
  get networks(): readonly string[] {
    return this.profile === undefined ? NETWORKS : Object.keys(this.profile.rpcUrls);
  }

  /** The key of the environment, or else of the profile. */
  get apiKey(): string | undefined {
    return this.runtime.environment.apiKey ?? this.profile?.apiKey;
  }

  /** The agent, which signs nothing. @throws CommandFailure without a key */
  agent(): Agent {
    return this.market.agent({ apiKey: this.requireKey() });
  }

  /** @throws CommandFailure without a key */
  requireKey(): string {
    const { apiKey } = this;
    if (apiKey !== undefined) return apiKey;
    throw new CommandFailure({
      exitCode: EXIT.notSignedIn,
      code: "api_key_required",
      message: `The profile ${this.files.name} has no API key.`,
      whatToDo: "Run `agent-marketplace init`, or set AGENT_MARKETPLACE_API_KEY.",
    });
  }

  /**
   * Calls a tool of the catalogue.
   * @returns the data of its result
   * @throws CommandFailure for its refusal
   */
  async call(name: string, input: Record<string, unknown>, options: ToolCall = {}): Promise<Record<string, unknown>> {
    const { signer = callerSigner, waitMs, progress } = options;
    const tool = TOOLS.find((candidate) => candidate.name === name);
    if (tool === undefined) throw new Error(`there is no tool ${name}`);
    const needsKey = name !== "search_services";
    const agent = options.agent ?? (needsKey || this.apiKey !== undefined ? this.agent() : undefined);
    const context: ToolContext = { market: this.market, agent, signer, waitMs };
    const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
    const work = tool.run(context, given);
    const result = await (progress === undefined ? work : this.output.progress(progress, work));
    if (result.isError) throw failureOfRefusal(result, { writes: !tool.hints.readOnly });
    return result.data;
  }
}

/** The marketplace of a profile. @throws CommandFailure if its address is none */
export function openMarket(url: string, profile: Pick<Profile, "publicUrl"> | undefined): Marketplace {
  return new Marketplace({ url, publicUrl: profile?.publicUrl });
}
