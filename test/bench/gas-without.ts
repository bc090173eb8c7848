import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import { ContractFactory } from "ethers";
import hre from "hardhat";

import { AMOUNT, gasSetup, used } from "./gas-setup.ts";

const require = createRequire(import.meta.url);
const solc = require("solc") as {
  compile: (input: string, callbacks: { import: (path: string) => { contents: string } }) => string;
};

/** What of the compiler's answer is read here. */
interface Compiled {
  errors?: { severity: string; formattedMessage: string }[];
  contracts?: Record<string, Record<string, { evm: { bytecode: { object: string } } }>>;
}

/** What a creation costs less without a part of the contract; known for one code and one figure only. */
export interface GasWithout {
  /** SHA-256 of the escrow contract's code, its metadata left out. */
  code: string;
  createEscrow: number;
  /** Part → gas saved. */
  saved: Record<string, number>;
}

const SOURCE = "contracts/EscrowV2.sol";
const PATCHED = "contracts/escrow/EscrowCreation.sol";
/** Part → the lines of EscrowCreation.sol that are its. */
const PARTS: Record<string, RegExp[]> = {
  "seller's terms": [/ +SellerTerms storage asked = [\s\S]*?if \(deliverySeconds < [^}]*\}\n/],
  "balance before and after": [
    / +uint256 balanceBefore = IERC20\(token\)\.balanceOf\(address\(this\)\);\n/,
    / +_requireDeposit\(token, balanceBefore, amount\);\n/,
  ],
};

/** Whether the figures belong to the present code and to this gas of its creation. */
export async function isKnown(without: GasWithout, createEscrow: number): Promise<boolean> {
  return without.createEscrow === createEscrow && without.code === (await codeOf());
}

async function codeOf(): Promise<string> {
  const { deployedBytecode } = await hre.artifacts.readArtifact("EscrowV2");
  const code = Buffer.from(deployedBytecode.slice(2), "hex");
  const metadata = code.readUInt16BE(code.length - 2) + 2;
  return createHash("sha256").update(code.subarray(0, -metadata)).digest("hex");
}

/** Compiles the escrow contract without each part (a quarter of a minute each) and measures the same creation with it. */
export async function measureWithout(createEscrow: number): Promise<GasWithout> {
  const saved: Record<string, number> = {};
  for (const [part, lines] of Object.entries(PARTS)) saved[part] = createEscrow - (await creationWithout(part, lines));
  return { code: await codeOf(), createEscrow, saved };
}

async function creationWithout(part: string, lines: RegExp[]): Promise<number> {
  let source = readFileSync(PATCHED, "utf8");
  for (const line of lines) {
    const shorter = source.replace(line, "");
    if (shorter === source)
      throw new Error(`${PATCHED} has no longer what test/bench/gas-without.ts takes for ${part}`);
    source = shorter;
  }
  const { abi } = await hre.artifacts.readArtifact("EscrowV2");
  const setup = await gasSetup({ escrowFactory: new ContractFactory(abi as never, compile(source)) });
  return used(setup.steps.create(await setup.steps.terms(AMOUNT, setup.addresses.usdc)));
}

/** Bytecode of the escrow contract with another EscrowCreation.sol. */
function compile(creation: string): string {
  const settings: unknown = hre.config.solidity.profiles["default"]?.compilers[0]?.settings;
  const input = {
    language: "Solidity",
    sources: { [SOURCE]: { content: readFileSync(SOURCE, "utf8") }, [PATCHED]: { content: creation } },
    settings: { ...(settings as object), outputSelection: { [SOURCE]: { EscrowV2: ["evm.bytecode.object"] } } },
  };
  const answer = JSON.parse(
    solc.compile(JSON.stringify(input), {
      import: (path) => ({ contents: readFileSync(existsSync(path) ? path : join("node_modules", path), "utf8") }),
    }),
  ) as Compiled;
  const problems = answer.errors?.filter(({ severity }) => severity === "error") ?? [];
  if (problems.length > 0) throw new Error(problems.map(({ formattedMessage }) => formattedMessage).join("\n"));
  return `0x${answer.contracts?.[SOURCE]?.["EscrowV2"]?.evm.bytecode.object ?? ""}`;
}
