import type { Provider, Signer } from "ethers";
import { getAddress, isAddress } from "ethers";

import type { DeployTarget } from "../networks.ts";
import { TIMELOCK_DELAY_SECONDS } from "../networks.ts";
import { isContract } from "../system/code.ts";
import { ensureTimelock } from "../system/contracts.ts";
import type { DeployedGovernance, DeployedRoles } from "../system/deployment-file.ts";
import { LOCAL_ROLE_INDEX } from "../system/local-roles.ts";
import type { LocalRole } from "../system/local-roles.ts";
import { problem } from "../system/problem.ts";

/** Environment variables with the role holders of a live network. */
const ROLE_VARIABLES = {
  treasury: "TREASURY_ADDRESS",
  pauser: "PAUSER_ADDRESS",
  systemResolver: "SYSTEM_RESOLVER_ADDRESS",
  adminResolver: "ADMIN_RESOLVER_ADDRESS",
} as const;

/** The inputs that determine the role holders. */
export interface RoleOptions {
  target: DeployTarget;
  deployer: Signer;
  provider: Provider;
  /** Account addresses of a local chain, in order. */
  accounts: readonly string[];
  env: Record<string, string | undefined>;
  log: (line: string) => void;
}

/**
 * Resolves who holds which role. On `base` the owner is a 48-hour timelock under the multisig `MULTISIG_ADDRESS`; this
 * creates the timelock when it doesn't exist yet. Rejects a plain wallet as the multisig, including one that delegates
 * to a contract.
 */
export async function resolveRoles(
  options: RoleOptions,
): Promise<{ roles: DeployedRoles; governance?: DeployedGovernance }> {
  const { target, env } = options;
  if (target.local) return { roles: localRoles(options.accounts) };

  const problems: string[] = [];
  const read = (variable: string): string => {
    const value = env[variable];
    if (isAddress(value)) return getAddress(value);
    problems.push(`${variable} is not set to an address`);
    return "";
  };
  const held = {
    treasury: read(ROLE_VARIABLES.treasury),
    pauser: read(ROLE_VARIABLES.pauser),
    systemResolver: read(ROLE_VARIABLES.systemResolver),
    adminResolver: read(ROLE_VARIABLES.adminResolver),
  };
  const owner = target.timelocked
    ? read("MULTISIG_ADDRESS")
    : env.OWNER_ADDRESS === undefined
      ? await options.deployer.getAddress()
      : read("OWNER_ADDRESS");
  if (problems.length > 0) throw problem(`The roles are not complete: ${problems.join("; ")}`);
  if (!target.timelocked) return { roles: { owner, ...held } };

  if (!(await isContract(options.provider, owner))) {
    throw problem(
      `MULTISIG_ADDRESS ${owner} is a plain wallet: on this network the upgrader must be a multisig contract, never an EOA`,
    );
  }
  const terms = { multisig: owner, minDelaySeconds: TIMELOCK_DELAY_SECONDS };
  const timelock = await ensureTimelock(options.deployer, options.provider, owner, options.log);
  return {
    roles: { owner: timelock, ...held },
    governance: { timelock, ...terms, created: terms },
  };
}

function localRoles(accounts: readonly string[]): DeployedRoles {
  const account = (role: LocalRole): string => {
    const address = accounts[LOCAL_ROLE_INDEX[role]];
    if (address === undefined) throw problem(`A local chain needs at least five accounts, for the role ${role}`);
    return address;
  };
  return {
    owner: account("owner"),
    treasury: account("treasury"),
    pauser: account("pauser"),
    systemResolver: account("systemResolver"),
    adminResolver: account("adminResolver"),
  };
}
