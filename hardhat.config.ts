import { createRequire } from "node:module";

import toolbox from "@nomicfoundation/hardhat-toolbox-mocha-ethers";
import { defineConfig } from "hardhat/config";

const require = createRequire(import.meta.url);
const solcSettings = {
  version: "0.8.37",
  // The compiler comes from its npm package: nothing is downloaded.
  path: require.resolve("solc/soljson.js"),
  settings: {
    evmVersion: "prague",
    viaIR: true,
    optimizer: { enabled: true, runs: 20_000 },
  },
} as const;

export default defineConfig({
  plugins: [toolbox],
  solidity: { profiles: { default: solcSettings, production: solcSettings } },
  typechain: { outDir: "typechain-types", tsNocheck: true },
  test: { mocha: { reporter: "./scripts/testing/mocha-reporter.cjs", timeout: 120_000 } },
  paths: { sources: "./contracts", tests: { mocha: "./test/contracts", solidity: "./test/contracts" } },
});
