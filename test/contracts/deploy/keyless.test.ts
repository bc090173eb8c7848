import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";

import { expect } from "chai";

import { writeDeployment } from "../../../deploy/system/deployment-file.ts";
import type { LocalBase } from "../fork/local-base.ts";
import { startLocalBase } from "../fork/local-base.ts";

describe("commands that only read a live network", function () {
  this.timeout(240_000);
  let chain: LocalBase;
  let dir: string;
  let file: string;

  before("start a chain that simulates Base Sepolia", async () => {
    chain = await startLocalBase("base-sepolia");
    dir = await mkdtemp(path.join(os.tmpdir(), "keyless-"));
    file = path.join(dir, "base-sepolia.json");
    await writeDeployment(file, chain.deployment);
  });
  after(async () => {
    await chain.stop();
    await rm(dir, { recursive: true });
  });

  /** Runs a task on the live network's name, with the local chain behind it and no key of a deployer. */
  const hardhat = async (...task: string[]): Promise<{ code: number; output: string }> => {
    const env = { ...process.env };
    delete env.DEPLOYER_PRIVATE_KEY;
    const child = spawn("hardhat", [...task, "--network", "base-sepolia", "--out-dir", dir], {
      env: { ...env, HOME: dir, XDG_CONFIG_HOME: dir, RPC_URL_BASE_SEPOLIA: chain.url },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    child.stdout.on("data", (part: Buffer) => (output += part.toString()));
    child.stderr.on("data", (part: Buffer) => (output += part.toString()));
    const [code] = (await once(child, "close")) as [number];
    return { code, output };
  };

  it("upgrade --dry-run needs no key", async () => {
    const before = await readFile(file, "utf8");
    const { code, output } = await hardhat("upgrade", "--dry-run");
    expect(output).to.contain(`escrow: EscrowV2 at ${chain.deployment.contracts.escrow.implementation} is current`);
    expect(code).to.equal(0);
    expect(await readFile(file, "utf8")).to.equal(before);
  });

  it("check-deployment needs no key", async () => {
    const { code, output } = await hardhat("check-deployment");
    expect(output).to.contain("base-sepolia: everything is on the chain as");
    expect(code).to.equal(0);
  });
});
