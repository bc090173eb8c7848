import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** What the process was started with, besides its arguments. */
export interface Environment {
  /** `AGENT_MARKETPLACE_URL` */
  url: string | undefined;
  /** `AGENT_MARKETPLACE_API_KEY`; replaces the profile's key. */
  apiKey: string | undefined;
  /** `AGENT_MARKETPLACE_PROFILE` */
  profile: string | undefined;
  /** `AGENT_MARKETPLACE_PASSWORD_FILE`. There is no variable for the password itself: other processes can read variables. */
  passwordFile: string | undefined;
  /** `NO_COLOR` is set, to whatever. */
  hasNoColor: boolean;
  /** `XDG_CONFIG_HOME`, by default `~/.config` */
  configHome: string;
  /** `XDG_DATA_HOME`, by default `~/.local/share` */
  dataHome: string;
  /** `XDG_STATE_HOME`, by default `~/.local/state` */
  stateHome: string;
}

export function readEnvironment(variables: NodeJS.ProcessEnv = process.env): Environment {
  const text = (name: string): string | undefined => {
    const value = variables[name];
    return value === "" ? undefined : value;
  };
  const folder = (name: string, fallback: string[]): string => {
    const value = text(name);
    // XDG: a relative path is invalid and ignored.
    return value !== undefined && isAbsolute(value) ? value : join(homedir(), ...fallback);
  };
  return {
    url: text("AGENT_MARKETPLACE_URL"),
    apiKey: text("AGENT_MARKETPLACE_API_KEY"),
    profile: text("AGENT_MARKETPLACE_PROFILE"),
    passwordFile: text("AGENT_MARKETPLACE_PASSWORD_FILE"),
    hasNoColor: text("NO_COLOR") !== undefined,
    configHome: folder("XDG_CONFIG_HOME", [".config"]),
    dataHome: folder("XDG_DATA_HOME", [".local", "share"]),
    stateHome: folder("XDG_STATE_HOME", [".local", "state"]),
  };
}
