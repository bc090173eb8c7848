// Compiles the proofs and writes them, with the built contracts, as halmos reads a build of Foundry.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";

import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import { toFunctionSelector } from "viem";

const require = createRequire(import.meta.url);
const solc = require("solc") as {
  compile: (input: string, callbacks: { import: (path: string) => { contents?: string; error?: string } }) => string;
};

/** The used fields of the compiler's output. */
interface Output {
  errors?: { severity: string; formattedMessage: string }[];
  sources: Record<string, { id: number; ast: unknown }>;
  contracts: Record<string, Record<string, Compiled>>;
}

interface Compiled {
  abi: unknown[];
  evm: {
    bytecode: { object: string; linkReferences: object };
    deployedBytecode: { object: string };
    methodIdentifiers: Record<string, string>;
  };
}

/** A contract that halmos runs proofs of. */
export interface Suite {
  contract: string;
  tests: string[];
}

const VERSION = "0.8.37";
/** The files that prove library code by itself: they are compiled as the contracts are. */
const OF_LIBRARIES = /\/(Math|Packing)\.proofs\.sol$/;
/** Contracts whose every function a proof calls, so that halmos must know their functions. */
const CALLED = ["EscrowV2", "ResolverV2", "ScoreV2"];

/** Writes the proofs into `folder` and returns their contracts with the names of their tests. */
export async function compileProofs(
  files: readonly string[],
  folder: string,
  hre: HardhatRuntimeEnvironment,
): Promise<Suite[]> {
  rmSync(folder, { recursive: true, force: true });
  const settings = hre.config.solidity.profiles["default"]?.compilers[0]?.settings as Record<string, unknown>;
  // The other proofs only describe; the contracts that they call are those of `hardhat build`. Without the
  // intermediate representation they compile in a fraction of the time.
  const plain = { ...settings, viaIR: false, optimizer: { enabled: true, runs: 1 } };
  const ofLibraries = files.filter((file) => OF_LIBRARIES.test(file));
  const others = files.filter((file) => !OF_LIBRARIES.test(file));
  const suites = [...compile(ofLibraries, settings, folder), ...compile(others, plain, folder)];
  for (const name of CALLED) {
    const { abi, bytecode, deployedBytecode, sourceName } = await hre.artifacts.readArtifact(name);
    const functions = (abi as readonly { type: string }[]).filter(({ type }) => type === "function");
    const methodIdentifiers = Object.fromEntries(functions.map(identify));
    write(folder, sourceName, name, {
      abi,
      bytecode: { object: bytecode, linkReferences: {} },
      deployedBytecode: { object: deployedBytecode },
      methodIdentifiers,
      ast: { absolutePath: sourceName, nodes: [{ nodeType: "ContractDefinition", name, contractKind: "contract" }] },
    });
  }
  return suites;
}

/** The variables by which the proofs read the built contracts (`vm.envBytes`). */
export async function builtContracts(hre: HardhatRuntimeEnvironment): Promise<Record<string, string>> {
  const [escrow, resolver, score, proxy] = await Promise.all(
    [...CALLED, "ERC1967Proxy"].map((name) => hre.artifacts.readArtifact(name)),
  );
  if (escrow === undefined || resolver === undefined || score === undefined || proxy === undefined) {
    throw new Error("a built contract is missing: run npm run build");
  }
  return {
    CREATION_OF_ESCROW: escrow.bytecode,
    CREATION_OF_RESOLVER: resolver.bytecode,
    CREATION_OF_SCORE: score.bytecode,
    CODE_OF_PROXY: proxy.deployedBytecode,
  };
}

function compile(files: readonly string[], settings: Record<string, unknown>, folder: string): Suite[] {
  const input = {
    language: "Solidity",
    sources: Object.fromEntries(files.map((file) => [file, { content: readFileSync(file, "utf8") }])),
    settings: {
      ...settings,
      outputSelection: {
        "*": { "": ["ast"], "*": ["abi", "evm.bytecode", "evm.deployedBytecode", "evm.methodIdentifiers"] },
      },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: read })) as Output;
  const errors = (output.errors ?? []).filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join("\n"));

  const suites: Suite[] = [];
  for (const [file, contracts] of Object.entries(output.contracts)) {
    for (const [contract, { abi, evm }] of Object.entries(contracts)) {
      const { methodIdentifiers, bytecode, deployedBytecode } = evm;
      write(folder, file, contract, {
        abi,
        bytecode: { ...bytecode, object: `0x${bytecode.object}` },
        deployedBytecode: { ...deployedBytecode, object: `0x${deployedBytecode.object}` },
        methodIdentifiers,
        ast: output.sources[file]?.ast,
      });
      const tests = Object.keys(methodIdentifiers).filter((name) => /^(check|refute)_/.test(name));
      if (tests.length > 0) suites.push({ contract, tests });
    }
  }
  return suites;
}

function read(path: string): { contents?: string; error?: string } {
  for (const candidate of [path, join("node_modules", path)]) {
    try {
      return { contents: readFileSync(candidate, "utf8") };
    } catch {
      // The next place.
    }
  }
  return { error: `${path} was not found` };
}

function identify(item: unknown): [string, string] {
  const signature = signatureOf(item as AbiItem);
  return [signature, toFunctionSelector(signature).slice(2)];
}

interface AbiItem {
  name: string;
  inputs: AbiType[];
}

interface AbiType {
  type: string;
  components?: AbiType[];
}

function signatureOf({ name, inputs }: AbiItem): string {
  return `${name}(${inputs.map(typeOf).join(",")})`;
}

function typeOf({ type, components }: AbiType): string {
  return components === undefined ? type : `(${components.map(typeOf).join(",")})${type.slice("tuple".length)}`;
}

function write(folder: string, file: string, contract: string, content: object): void {
  const target = join(folder, basename(file));
  mkdirSync(target, { recursive: true });
  const metadata = { compiler: { version: VERSION } };
  writeFileSync(join(target, `${contract}.json`), JSON.stringify({ ...content, metadata, id: 0 }));
}
