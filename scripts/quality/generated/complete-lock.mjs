// `npm run lock`: writes package-lock.json anew after a change of package.json and completes it.
//
// npm leaves the optional package of another platform out of the lock file when the registry in use does not serve it,
// and `npm ci` then refuses the lock file everywhere. Its name says what it is for, so the entry can be written.
import { execSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const HELP = `usage: npm run lock -- [--help]

Writes package-lock.json anew after a change of package.json, and completes it with the packages of other platforms.
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
/** How a package says which platform it is for: system, processor and, on some, the C library or the ABI. */
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
for (const [path, entry] of Object.entries({ ...packages })) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (isLocked(packages, path, name)) continue;
    const platform = PLATFORM.exec(name);
    if (platform === null || !/^\d+\.\d+\.\d+$/.test(version)) {
      throw new Error(`${path} asks for ${name}@${version}, which is not locked and names no platform`);
    }
    const [, os, architecture, abi] = platform;
    const cpu = architecture === "amd64" ? "x64" : architecture;
    const libc = os === "linux" && LIBC[abi] !== undefined ? { libc: [LIBC[abi]] } : {};
    const dev = entry.dev === true ? { dev: true } : {};
    packages[`node_modules/${name}`] = { version, cpu: [cpu], ...dev, ...libc, optional: true, os: [os] };
    console.log(`completed ${name}@${version} (${os}, ${cpu})`);
  }
}
lock.packages = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(LOCK, `${JSON.stringify(lock, null, 2)}\n`);
