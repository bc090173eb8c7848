import { join } from "node:path";

import { z } from "zod";

import { usageFailure } from "../failure.ts";
import { readPrivateFile, writePrivateFile } from "../wallet/private-files.ts";
import type { Environment } from "./environment.ts";

const profileSchema = z.strictObject({
  version: z.literal(1),
  /** Address of the API. */
  url: z.url(),
  /** Public address of the API, which sign-in messages name, where it isn't `url`. */
  publicUrl: z.url().optional(),
  agentId: z.string(),
  apiKey: z.string(),
  /** RPC servers by network, where the default isn't meant. */
  rpcUrls: z.record(z.string(), z.url()),
});

/** One agent at one marketplace, as `init` has set it up. */
export type Profile = z.output<typeof profileSchema>;

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const DEFAULT_NAME = "default";

/** Where the files of a profile are. */
export interface ProfileFiles {
  name: string;
  /** Address and API key, mode 600. */
  profile: string;
  /** Folder of the wallet: keystore, pins, limits and ledger. */
  walletFolder: string;
  /** Folder of what changes with use. */
  stateFolder: string;
  /** Id of the last event that `events --follow` has written. */
  position: string;
}

/** The files of the chosen profile, whether they exist or not. @throws CommandFailure for a name that is no file name */
export function profileFiles(environment: Environment, chosen: string | undefined): ProfileFiles {
  const name = chosen ?? environment.profile ?? DEFAULT_NAME;
  if (!NAME.test(name)) {
    const message = "--profile: must have 1 to 64 characters of A-Z a-z 0-9 . _ - and begin with a letter or digit";
    throw usageFailure(message, "Choose another name for the profile.");
  }
  const config = join(environment.configHome, "agent-marketplace", name);
  const state = join(environment.stateHome, "agent-marketplace", name);
  return {
    name,
    profile: join(config, "profile.json"),
    walletFolder: join(environment.dataHome, "agent-marketplace", name),
    stateFolder: state,
    position: join(state, "event-position"),
  };
}

/**
 * The profile in a file; undefined without one.
 * @throws WalletError `open_to_others`
 * @throws CommandFailure if the file isn't a profile
 */
export async function readProfile(file: string): Promise<Profile | undefined> {
  const text = await readPrivateFile(file);
  if (text === undefined) return undefined;
  const parsed = profileSchema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue === undefined ? "" : ` (${issue.path.join(".") || "the whole"}: ${issue.message})`;
  throw usageFailure(`${file} isn't a profile${where}.`, "Move the file away and run `agent-marketplace init` again.");
}

export async function writeProfile(file: string, profile: Profile): Promise<void> {
  await writePrivateFile(file, `${JSON.stringify(profile, null, 2)}\n`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
