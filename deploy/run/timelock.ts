import type { Provider } from "ethers";
import { ZeroHash, toBeHex } from "ethers";

import { TimelockController__factory } from "../../typechain-types/factories/@openzeppelin/contracts/governance/TimelockController__factory.ts";
import type { DeployedGovernance } from "../system/deployment-file.ts";

/** `getTimestamp` of an executed operation. */
const DONE_TIMESTAMP = 1n;

/** The calldata that the multisig sends to the timelock for one call. */
export interface Proposal {
  schedule: string;
  execute: string;
  /** Unix time in seconds from which `execute` works, when the operation is already scheduled. */
  readyAt?: number;
}

/**
 * The timelock operation for a call. A timelock accepts an operation only once, so repeating a call (an upgrade back to
 * an earlier implementation) needs a new salt: the first whose operation hasn't been executed. The salt follows from
 * the chain alone, so later runs name the same operation until it is executed.
 */
export async function readProposal(
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
