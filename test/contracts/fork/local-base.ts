import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";

import { network } from "hardhat";

import { NETWORKS, type SettlementNetwork } from "../../../deploy/networks.ts";
import { runDeployment } from "../../../deploy/run/run-deployment.ts";
import type { Deployment } from "../../../deploy/system/deployment-file.ts";
import { CHAIN_HISTORY } from "../../../scripts/local/chain.ts";
import { PROGRAMS } from "../../../scripts/local/paths.ts";
import { findFreePorts } from "../../../scripts/local/ports.ts";

/** Names of the networks of hardhat.config.ts that simulate the live ones. */
const LOCAL_TARGETS: Record<SettlementNetwork, string> = { "base-sepolia": "localBaseSepolia", base: "localBase" };
const START_TIMEOUT_MS = 30_000;

/** A local chain that simulates Base, with the contracts deployed. */
export interface LocalBase {
  url: string;
  deployment: Deployment;
  /** The block after the deployment, at which a fork is pinned. */
  blockNumber: number;
  /** Mines a block in which the treasury changes, which a fork at `blockNumber` must not see. */
  moveOn(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the chain, deploys as `hardhat deploy` does, and returns what a fork needs. */
export async function startLocalBase(settlement: SettlementNetwork): Promise<LocalBase> {
  const port = await findFreePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const { chainId } = NETWORKS[settlement];
  const anvil = spawn(
    PROGRAMS.anvil,
    [
      ...["--host", "127.0.0.1", "--port", String(port), "--chain-id", String(chainId), "--network", "optimism"],
      ...[...CHAIN_HISTORY, "--quiet"],
    ],
    { stdio: "ignore" },
  );
  const dir = await mkdtemp(path.join(os.tmpdir(), "local-base-"));
  try {
    await untilReady(url, anvil);
    const connection = await network.create({ network: LOCAL_TARGETS[settlement], override: { url } });
    const { ethers, provider } = connection;
    const signers = await ethers.getSigners();
    const [deployer] = signers;
    if (!deployer) throw new Error("the local chain has no accounts");
    const deployment = await runDeployment({
      targetName: LOCAL_TARGETS[settlement],
      deployer,
      provider: ethers.provider,
      request: (method, params) => provider.request({ method, params }),
      accounts: signers.map(({ address }) => address),
      env: {},
      deploymentsDir: dir,
      networksFile: path.join(dir, "networks.json"),
      log: () => undefined,
    });
    await provider.request({ method: "evm_mine", params: [] });
    const blockNumber = await ethers.provider.getBlockNumber();
    return {
      url,
      deployment,
      blockNumber,
      moveOn: async () => {
        const owner = await ethers.getSigner(deployment.roles.owner);
        const escrow = await ethers.getContractAt("EscrowV2", deployment.contracts.escrow.proxy, owner);
        await (await escrow.setTreasury(signers[9]?.address ?? "")).wait();
      },
      stop: async () => {
        await connection.close();
        await end(anvil, dir);
      },
    };
  } catch (error) {
    await end(anvil, dir);
    throw error;
  }
}

async function untilReady(url: string, anvil: ChildProcess): Promise<void> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] });
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    if (anvil.exitCode !== null) throw new Error(`anvil ended with code ${anvil.exitCode}`);
    try {
      const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
      if (response.ok) return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function end(anvil: ChildProcess, dir: string): Promise<void> {
  if (anvil.exitCode === null) {
    const ended = once(anvil, "exit");
    anvil.kill("SIGKILL");
    await ended;
  }
  await rm(dir, { recursive: true, force: true });
}
