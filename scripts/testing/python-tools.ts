import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { run } from "./run.ts";

/** How long pip may take. */
const INSTALL_LIMIT_MS = 240_000;

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
  const pip = join(venv, "bin", "pip");
  const install = [
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "--retries",
    "2",
    "--requirement",
    requirements,
  ];
  for (const [command, args] of [["python3", ["-m", "venv", venv]] as const, [pip, install] as const]) {
    const limit = AbortSignal.timeout(INSTALL_LIMIT_MS);
    const { code, output } = await run(command, [...args], { capture: true, signal: limit });
    if (code !== 0) throw new Error(`${command} ${args.join(" ")} failed:\n${output}`);
  }
  writeFileSync(stamp, wanted);
}
