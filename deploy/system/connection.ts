import type { Provider, Signer } from "ethers";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { problem } from "./problem.ts";

/** Sends a JSON-RPC request to the node. */
export type RpcRequest = (method: string, params: unknown[]) => Promise<unknown>;

/** A connection to the network that `--network` names, and the deployer. */
export interface DeployConnection {
  targetName: string;
  deployer: Signer;
  provider: Provider;
  request: RpcRequest;
  accounts: readonly string[];
}

/** Connects to the network that `--network` names, without accounts, because reading needs no key. */
export async function connectForReading(
  hre: HardhatRuntimeEnvironment,
): Promise<Pick<DeployConnection, "targetName" | "provider">> {
  const { network } = hre.globalOptions;
  const { ethers, networkName } = await hre.network.create({ network, override: { accounts: "remote" } });
  return { targetName: networkName, provider: ethers.provider };
}

/** Connects. The error for a missing deployer key says how to set it. */
export async function connectForDeployment(hre: HardhatRuntimeEnvironment): Promise<DeployConnection> {
  const { ethers, provider, networkName } = await hre.network.create();
  let signers: Awaited<ReturnType<typeof ethers.getSigners>>;
  try {
    signers = await ethers.getSigners();
  } catch (error) {
    if (!(error instanceof Error) || !error.message.includes("DEPLOYER_PRIVATE_KEY")) throw error;
    throw problem(
      `DEPLOYER_PRIVATE_KEY is not set, so nothing can be sent on ${networkName}: keep it in the Hardhat keystore ` +
        "(npx hardhat keystore set DEPLOYER_PRIVATE_KEY) or set the environment variable of that name",
      error,
    );
  }
  const [deployer] = signers;
  if (!deployer) throw problem(`The network ${networkName} has no accounts`);
  return {
    targetName: networkName,
    deployer,
    provider: ethers.provider,
    request: (method, params) => provider.request({ method, params }),
    accounts: signers.map(({ address }) => address),
  };
}
