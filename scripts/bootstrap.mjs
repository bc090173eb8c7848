#!/usr/bin/env node
// Runs a script of the project, also on a fresh clone: installs the packages when they are missing or don't match the
// lock file, then hands over to the project's own Node. Plain JavaScript without packages, for Node 18 and later.
import { spawn, spawnSync } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { giveLockFile, takeLockFile } from "./local/lock-file.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const modules = join(root, "node_modules");
const stamp = join(modules, ".bootstrap-stamp");
const lock = join(root, ".local", "bootstrap.lock");
const NODE_MAJOR = 24;
const LOCK_STALE_MS = 15 * 60_000;

const say = (text) => process.stdout.write(`${text}\n`);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function fail(text) {
  process.stderr.write(`${text}\n`);
  process.exit(1);
}

/** A hash of what determines node_modules. The scripts of package.json don't. */
function wantedStamp() {
  const wanted = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const { dependencies, devDependencies, optionalDependencies, allowScripts } = wanted;
  return createHash("sha256")
    .update(JSON.stringify([dependencies, devDependencies, optionalDependencies, allowScripts]))
    .update(readFileSync(join(root, "package-lock.json")))
    .update(`${process.platform}-${process.arch}`)
    .digest("hex");
}

const isInstalled = (wanted) => existsSync(stamp) && readFileSync(stamp, "utf8") === wanted;

/** The Node of the lock file, else the one that runs this, if it is new enough. */
function projectNode() {
  const packaged = join(modules, ".bin", "node");
  if (existsSync(packaged)) return packaged;
  return Number(process.versions.node.split(".")[0]) >= NODE_MAJOR ? process.execPath : undefined;
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Whether the lock's holder has ended, or its id now belongs to another process. */
function isAbandoned(content) {
  const [holder, since] = content.split(" ").map(Number);
  return !(holder > 0 && isAlive(holder)) || !(Date.now() - since < LOCK_STALE_MS);
}

/** Allows one install at a time, because `npm start` and `npm test` may run concurrently in a fresh clone. */
async function withLock(run) {
  const self = `${process.pid} ${Date.now()} ${randomUUID()}`;
  for (let told = false; ; told = true) {
    const holder = takeLockFile(lock, self, isAbandoned);
    if (holder === undefined) break;
    const [pid] = holder.split(" ");
    if (!told) say(`Another command of this clone is installing the packages (process ${pid}); waiting for it …`);
    await sleep(500);
  }
  try {
    return await run();
  } finally {
    giveLockFile(lock, self);
  }
}

function run(command, args) {
  return new Promise((resolve) => {
    // An npm older than `allowScripts` runs the script of onnxruntime-node, which downloads what no processor needs.
    const env = { ONNXRUNTIME_NODE_INSTALL: "skip", ...process.env };
    const child = spawn(command, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    child.stdout.on("data", (chunk) => (output += chunk));
    child.stderr.on("data", (chunk) => (output += chunk));
    child.on("error", (error) => resolve({ code: 1, output: `${command}: ${error.message}` }));
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

async function install(wanted) {
  say("Installing the packages of package-lock.json (npm ci; about a minute the first time) …");
  const started = Date.now();
  const ticker = setInterval(() => say(`  … still installing, ${Math.round((Date.now() - started) / 1000)} s`), 10_000);
  const { code, output } = await run("npm", ["ci"]);
  clearInterval(ticker);
  if (code !== 0)
    fail(
      `${output}\nThe packages could not be installed (exit code ${code}). Mend the cause above and run the same command again.`,
    );
  if (projectNode() === undefined) {
    fail(
      `No package brings Node ${NODE_MAJOR} for ${process.platform}-${process.arch}. Install Node ${NODE_MAJOR} or newer and see compose.yaml.`,
    );
  }
  writeFileSync(stamp, wanted);
  say(`Packages installed in ${Math.round((Date.now() - started) / 1000)} s.`);
}

function handOver(args) {
  const node = projectNode();
  const path = [join(modules, ".bin"), dirname(node), process.env.PATH].join(":");
  // Keeps compiled code for later processes: one that loads the API takes a second less.
  const cache = join(root, ".local", "compile-cache");
  const env = { NODE_COMPILE_CACHE: cache, ...process.env, PATH: path };
  const child = spawn(node, args, { cwd: root, stdio: "inherit", env });
  // A terminal sends ctrl-C to the whole group. Forward a signal that only this process received.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => fail(`${node}: ${error.message}`));
  child.on("close", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : (code ?? 1)));
}

const args = process.argv.slice(2);
if (args.length === 0) fail("usage: node scripts/bootstrap.mjs <script.ts> [arguments]");
if (Number(process.versions.node.split(".")[0]) < 18)
  fail(`Node ${process.versions.node} is too old: install Node 20 or newer.`);
if (spawnSync("npm", ["--version"]).status !== 0)
  fail("npm was not found: install Node 20 or newer together with npm.");
const wanted = wantedStamp();
if (!isInstalled(wanted)) {
  await withLock(async () => {
    if (!isInstalled(wanted)) await install(wanted);
  });
}
handOver(args);
