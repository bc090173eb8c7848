import { createRequire } from "node:module";

import ethers from "@nomicfoundation/hardhat-ethers";
import chaiMatchers from "@nomicfoundation/hardhat-ethers-chai-matchers";
import keystore from "@nomicfoundation/hardhat-keystore";
import mocha from "@nomicfoundation/hardhat-mocha";
import networkHelpers from "@nomicfoundation/hardhat-network-helpers";
import typechain from "@nomicfoundation/hardhat-typechain";
import verify from "@nomicfoundation/hardhat-verify";
import { configVariable, defineConfig } from "hardhat/config";

import {
  checkDeploymentTask,
  deployTask,
  storageLayoutsTask,
  upgradeTask,
  verifyDeploymentTask,
} from "./deploy/tasks.ts";

const require = createRequire(import.meta.url);
const solcSettings = {
  version: "0.8.37",
  // The compiler comes from its npm package, so nothing is downloaded.
  path: require.resolve("solc/soljson.js"),
  settings: {
    evmVersion: "prague",
    viaIR: true,
    optimizer: { enabled: true, runs: 2_000 },
  },
} as const;

/** The default mnemonic of anvil and Hardhat. Its keys are public: for local chains only. */
const LOCAL_ACCOUNTS = { mnemonic: "test test test test test test test test test test test junk", count: 20 } as const;

export default defineConfig({
  plugins: [ethers, chaiMatchers, keystore, mocha, networkHelpers, typechain, verify],
  tasks: [deployTask, upgradeTask, storageLayoutsTask, checkDeploymentTask, verifyDeploymentTask],
  solidity: {
    profiles: { default: solcSettings, production: solcSettings },
    npmFilesToBuild: [
      "@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy.sol",
      "@openzeppelin/contracts/governance/TimelockController.sol",
    ],
  },
  networks: {
    localBaseSepolia: {
      type: "http",
      chainType: "op",
      chainId: 84532,
      url: process.env.RPC_URL_BASE_SEPOLIA ?? "http://127.0.0.1:8545",
      accounts: LOCAL_ACCOUNTS,
    },
    localBase: {
      type: "http",
      chainType: "op",
      chainId: 8453,
      url: process.env.RPC_URL_BASE ?? "http://127.0.0.1:8546",
      accounts: LOCAL_ACCOUNTS,
    },
    "base-sepolia": {
      type: "http",
      chainType: "op",
      chainId: 84532,
      url: process.env.RPC_URL_BASE_SEPOLIA ?? "https://sepolia.base.org",
      accounts: [configVariable("DEPLOYER_PRIVATE_KEY")],
    },
    base: {
      type: "http",
      chainType: "op",
      chainId: 8453,
      url: process.env.RPC_URL_BASE ?? "https://mainnet.base.org",
      accounts: [configVariable("DEPLOYER_PRIVATE_KEY")],
    },
  },
  // Forks use the latest hardfork, on the live chains and on local ones that simulate them.
  chainDescriptors: {
    84532: { name: "Base Sepolia", chainType: "op", hardforkHistory: { isthmus: { blockNumber: 0 } } },
    8453: { name: "Base", chainType: "op", hardforkHistory: { isthmus: { blockNumber: 0 } } },
  },
  verify: { etherscan: { apiKey: configVariable("ETHERSCAN_API_KEY") } },
  typechain: { outDir: "typechain-types", tsNocheck: true },
  test: {
    mocha: { reporter: "./scripts/testing/mocha-reporter.cjs", timeout: 120_000 },
    solidity: {
      profiles: {
        // Short campaigns use a fixed seed; long ones draw a seed and print it.
        default: { fuzz: { runs: 128 }, invariant: { runs: 8, depth: 64, failOnRevert: true } },
        // Mutation testing only needs to find faults, so it doesn't shrink the sequence of calls.
        mutation: {
          fuzz: { runs: 64 },
          invariant: { runs: 6, depth: 64, failOnRevert: true, shrinkRunLimit: 0 },
        },
        long: {
          fuzz: { runs: 20_000, seed: process.env.FUZZ_SEED },
          invariant: { runs: Number(process.env.INVARIANT_RUNS ?? 850), depth: 100, failOnRevert: true },
        },
      },
    },
  },
  paths: { sources: "./contracts", tests: { mocha: "./test/contracts", solidity: "./test/contracts" } },
});
