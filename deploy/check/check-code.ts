import type { Provider } from "ethers";
import { concat } from "ethers";

import { ERC1967Proxy__factory } from "../../typechain-types/factories/@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy__factory.ts";
import { EscrowV2__factory } from "../../typechain-types/factories/contracts/EscrowV2__factory.ts";
import { timelockInitCode } from "../system/contracts.ts";
import type { Deployment } from "../system/deployment-file.ts";
import { BYTECODES, implementationCode, isOfBuild } from "../system/implementations.ts";
import type { Difference } from "./check.ts";
import { refusalOf } from "./check.ts";

/**
 * Compares the code of proxies, timelock and implementations with what the current sources compile to. An
 * implementation of other sources isn't a difference, because the sources are ahead of what is deployed; `notesOf`
 * reports it.
 */
export async function findCodeDifferences(provider: Provider, deployment: Deployment): Promise<Difference[]> {
  const { contracts, governance } = deployment;
  const differences: Difference[] = [];
  const compare = async (title: string, address: string, initCode: string): Promise<void> => {
    const same = await isCodeOf(provider, address, initCode).catch(refusalOf);
    if (same === true) return;
    differences.push({
      fact: `code of ${title} against the sources`,
      expected: "what they compile to",
      actual: same === false ? `other code at ${address}` : `not to be compared (${same})`,
    });
  };
  for (const key of ["escrow", "score", "resolver"] as const) {
    const { proxy, implementation } = contracts[key];
    if (isOfBuild(deployment, key, BYTECODES[key])) {
      const initCode = implementationCode(deployment, key, BYTECODES[key]);
      await compare(`the implementation of ${key}`, implementation, initCode);
    }
    await compare(`the proxy of ${key}`, proxy, proxyInitCode(implementation));
  }
  if (governance) await compare("the timelock", governance.timelock, timelockInitCode(governance.created));
  return differences;
}

/** True when a contract has the code that `initCode` creates, ignoring where it embeds its own address. */
async function isCodeOf(provider: Provider, address: string, initCode: string): Promise<boolean> {
  const code = await provider.getCode(address);
  // A call without a recipient creates a contract and returns its code.
  const twin = await provider.call({ data: initCode });
  if (twin.length !== code.length) return false;
  const self = address.slice(2).toLowerCase();
  let neutral = twin;
  for (let at = code.indexOf(self); at !== -1; at = code.indexOf(self, at + self.length)) {
    neutral = neutral.slice(0, at) + self + neutral.slice(at + self.length);
  }
  return neutral === code;
}

/** Creates a proxy with the same code as every other; its initial call only reads. */
function proxyInitCode(implementation: string): string {
  const call = EscrowV2__factory.createInterface().encodeFunctionData("owner");
  return concat([
    ERC1967Proxy__factory.bytecode,
    ERC1967Proxy__factory.createInterface().encodeDeploy([implementation, call]),
  ]);
}
