// `npm run lock`: updates package-lock.json after a change of package.json and completes it.
//
// npm leaves an optional package of another platform out of the lock file when the registry in use doesn't serve it,
// and `npm ci` then rejects the lock file everywhere. The package's name says which platform it is for, so this adds
// the entry.
// npm also skips optional packages whose `engines` exclude the Node that installs, and installs those of all platforms that
// don't say theirs: both are mended in the entries.
import { execSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const HELP = `usage: npm run lock -- [--help]

Updates package-lock.json after a change of package.json, and adds missing packages of other platforms.
  --help   this text`;

const [argument] = process.argv.slice(2);
if (argument === "--help") {
  console.log(HELP);
  process.exit(0);
}
if (argument !== undefined) {
  console.error(`Unknown option '${argument}'.\n\n${HELP}`);
  process.exit(2);
}

const LOCK = "package-lock.json";
/** The platform in a package's name: system, processor and sometimes the C library or ABI. */
const PLATFORM =
  /-(android|darwin|freebsd|linux|openharmony|win32)-(amd64|arm|arm64|ia32|ppc64|riscv64|s390x|x64)(?:-(\w+))?$/;
const LIBC = { gnu: "glibc", musl: "musl" };

function isLocked(packages, from, name) {
  for (let base = from; ; base = base.slice(0, Math.max(0, base.lastIndexOf("node_modules/") - 1))) {
    if (packages[`${base === "" ? "" : `${base}/`}node_modules/${name}`] !== undefined) return true;
    if (base === "") return false;
  }
}

execSync("npm install --package-lock-only", { stdio: "inherit" });
const lock = JSON.parse(readFileSync(LOCK, "utf8"));
const { packages } = lock;

/** What the lock file says about the platforms of an optional package. */
function platformOf(name) {
  const platform = PLATFORM.exec(name);
  if (platform === null) return undefined;
  const [, os, architecture, abi] = platform;
  const libc = os === "linux" && LIBC[abi] !== undefined ? { libc: [LIBC[abi]] } : {};
  return { os: [os], cpu: [architecture === "amd64" ? "x64" : architecture], ...libc };
}

for (const [path, entry] of Object.entries({ ...packages })) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (isLocked(packages, path, name)) continue;
    const platform = platformOf(name);
    if (platform === undefined || !/^\d+\.\d+\.\d+$/.test(version)) {
      throw new Error(`${path} requires ${name}@${version}, which isn't locked and whose name has no known platform`);
    }
    const dev = entry.dev === true ? { dev: true } : {};
    packages[`node_modules/${name}`] = { version, ...dev, optional: true, ...platform };
    console.log(`completed ${name}@${version} (${platform.os}, ${platform.cpu})`);
  }
}
for (const [path, entry] of Object.entries(packages)) {
  if (entry.optional !== true) continue;
  // An older Node installs it, but the project's own runs it.
  delete entry.engines;
  if (entry.os === undefined) Object.assign(entry, platformOf(path));
}
lock.packages = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(LOCK, `${JSON.stringify(lock, null, 2)}\n`);
