// `npm run bench:start`: how long a newcomer waits. Clones the checkout's HEAD into a temporary folder and times, there,
// the first start (packages, compilers and deployment included), the second start and the three demos.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { delimiter, join } from "node:path";

import { portNumber, readArguments } from "../../scripts/command/arguments.ts";
import { SCENARIOS } from "../../scripts/demo/deal.ts";
import { PORTS_PER_STACK } from "../../scripts/local/stack-ports.ts";

const HELP = `usage: npm run bench:start -- [--port-base N] [--json] [--help]

Times, in a fresh clone of HEAD: first start to ready, second start to ready, and the demo's scenarios, each from the
command to its end.
  --port-base N   first port of the stack (default 26000)
  --json          one JSON object instead of lines
  --help          this text`;

const { values } = readArguments(HELP, {
  "port-base": { type: "string", default: "26000" },
  json: { type: "boolean", default: false },
});

const portBase = portNumber("--port-base", values["port-base"], PORTS_PER_STACK);

/** What was measured, in seconds. */
interface Figures {
  cores: number;
  /** Processes that ran or waited to, averaged over the minute before the first and after the last start. */
  load: { before: number; after: number };
  firstStartSeconds: number;
  secondStartSeconds: number;
  demoSeconds: Record<string, number>;
}

const say = (text: string): void => {
  if (!values.json) console.log(text);
};

/**
 * The environment of a newcomer's shell: this command itself may have been started by npm, which puts its settings and
 * the project's own Node there.
 */
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_")));
environment["PATH"] = (process.env["PATH"] ?? "")
  .split(delimiter)
  .filter((folder) => !folder.includes("node_modules"))
  .join(delimiter);

const currentLoad = (): number => Number((loadavg()[0] ?? 0).toFixed(1));

/** Starts the stack of a clone, runs `body` when it is ready, ends it by ctrl-C; returns the seconds to ready. */
async function started(clone: string, body: () => void): Promise<number> {
  const began = performance.now();
  const child = spawn("npm", ["start", "--silent", "--", "--port-base", String(portBase)], {
    cwd: clone,
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const ended = new Promise<void>((resolve) =>
    child.on("close", () => {
      resolve();
    }),
  );
  const seconds = await new Promise<number>((resolve, reject) => {
    let output = "";
    const look = (chunk: Buffer): void => {
      output += chunk.toString();
      if (/ s {2}ready$/m.test(output)) resolve((performance.now() - began) / 1000);
    };
    child.stdout.on("data", look);
    child.stderr.on("data", look);
    child.on("close", (code) => {
      reject(new Error(`npm start ended with code ${code ?? "none"}:\n${output}`));
    });
  });
  try {
    body();
  } finally {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGINT");
    await ended;
  }
  return seconds;
}

function demo(clone: string, scenario: string): number {
  const began = performance.now();
  execFileSync("npm", ["run", "demo", "--silent", "--", "--json", "--scenario", scenario], {
    cwd: clone,
    env: environment,
  });
  return (performance.now() - began) / 1000;
}

const folder = mkdtempSync(join(tmpdir(), "marketplace-bench-"));
const clone = join(folder, "clone");
try {
  const root = join(import.meta.dirname, "..", "..");
  execFileSync("git", ["clone", "--quiet", root, clone]);
  const figures: Figures = {
    cores: availableParallelism(),
    load: { before: currentLoad(), after: 0 },
    firstStartSeconds: 0,
    secondStartSeconds: 0,
    demoSeconds: {},
  };
  say(`Fresh clone of HEAD, ${figures.cores} cores; the first start installs and compiles everything …`);
  figures.firstStartSeconds = await started(clone, () => undefined);
  say(`first start to ready   ${figures.firstStartSeconds.toFixed(1)} s`);
  figures.secondStartSeconds = await started(clone, () => {
    for (const scenario of SCENARIOS) figures.demoSeconds[scenario] = demo(clone, scenario);
  });
  say(`second start to ready  ${figures.secondStartSeconds.toFixed(1)} s`);
  for (const [scenario, seconds] of Object.entries(figures.demoSeconds)) {
    say(`demo ${scenario.padEnd(17)} ${seconds.toFixed(1)} s`);
  }
  figures.load.after = currentLoad();
  say(`load before and after  ${figures.load.before} and ${figures.load.after}`);
  const rounded = (_: string, value: unknown): unknown =>
    typeof value === "number" ? Number(value.toFixed(2)) : value;
  if (values.json) console.log(JSON.stringify(figures, rounded));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
