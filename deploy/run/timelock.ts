import type { Provider } from "ethers";
import { ZeroHash, toBeHex } from "ethers";

import { TimelockController__factory } from "../../typechain-types/factories/@openzeppelin/contracts/governance/TimelockController__factory.ts";
import type { DeployedGovernance } from "../system/deployment-file.ts";

/** Value of `getTimestamp` of an operation that was executed. */
const DONE_TIMESTAMP = 1n;

/** What the multisig sends to the timelock to have one call made, as calldata. */
export interface Proposal {
  schedule: string;
  execute: string;
  /** Unix time in seconds from which `execute` is open, when the operation is scheduled already. */
  readyAt?: number;
}

/**
 * The timelock operation that makes a call. A timelock takes an operation once, for ever, so the same call (an upgrade
 * to an implementation that was there before) needs another salt: the first whose operation was not executed yet. It
 * follows from the chain alone, so a later run names the same operation until that is executed.
 */
export async function proposalOf(
  provider: Provider,
  governance: DeployedGovernance,
  target: string,
  call: string,
): Promise<Proposal> {
  const timelock = TimelockController__factory.connect(governance.timelock, provider);
  for (let number = 0; ; number += 1) {
    const operation = [target, 0, call, ZeroHash, toBeHex(number, 32)] as const;
    const timestamp = await timelock.getTimestamp(await timelock.hashOperation(...operation));
    if (timestamp === DONE_TIMESTAMP) continue;
    return {
      schedule: timelock.interface.encodeFunctionData("schedule", [...operation, governance.minDelaySeconds]),
      execute: timelock.interface.encodeFunctionData("execute", [...operation]),
      ...(timestamp > 0n && { readyAt: Number(timestamp) }),
    };
  }
}
