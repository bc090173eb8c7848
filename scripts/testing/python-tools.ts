import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { run } from "./run.ts";

/** How long pip may take. */
const INSTALL_LIMIT_MS = 240_000;
/** The first pip that installs into another environment than its own. */
const PIP_FOR_OTHERS = [22, 3] as const;

/**
 * Installs the packages of a pinned requirements file into a virtual environment, unless they are there already.
 * @param announce called before an installation begins
 * @throws Error with what python3 or pip said
 */
export async function installPythonTools(venv: string, requirements: string, announce: () => void): Promise<void> {
  const stamp = join(venv, "requirements.txt");
  const wanted = readFileSync(requirements, "utf8");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  announce();
  rmSync(venv, { recursive: true, force: true });
  const install = [
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "--retries",
    "2",
    "--requirement",
    requirements,
  ];
  const own = join(venv, "bin", "python");
  // A pip of its own would cost each environment six seconds of CPU time.
  const isShared = await hasPipForOthers();
  await runPython("python3", ["-m", "venv", ...(isShared ? ["--without-pip"] : []), venv]);
  if (isShared) await runPython("python3", ["-m", "pip", "--python", own, ...install]);
  else await runPython(own, ["-m", "pip", ...install]);
  writeFileSync(stamp, wanted);
}

async function runPython(command: string, args: string[]): Promise<void> {
  const limit = AbortSignal.timeout(INSTALL_LIMIT_MS);
  const { code, output } = await run(command, args, { capture: true, signal: limit });
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} failed:\n${output}`);
}

async function hasPipForOthers(): Promise<boolean> {
  const { output } = await run("python3", ["-m", "pip", "--version"], { capture: true });
  const [major = 0, minor = 0] = (/^pip (\d+)\.(\d+)/.exec(output)?.slice(1) ?? []).map(Number);
  const [sinceMajor, sinceMinor] = PIP_FOR_OTHERS;
  return major > sinceMajor || (major === sinceMajor && minor >= sinceMinor);
}
