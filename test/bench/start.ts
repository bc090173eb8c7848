// `npm run bench:start`: how long a newcomer waits. Clones the checkout's HEAD into a temporary folder and times, there,
// the first start (packages, compilers and deployment included), the second start and the three demos.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";

import { readArguments } from "../../scripts/arguments.ts";
import { SCENARIOS } from "../../scripts/demo/deal.ts";

const HELP = `usage: npm run bench:start -- [--port-base N] [--json] [--help]

Times, in a fresh clone of HEAD: first start to ready, second start to ready, and the demo's scenarios.
  --port-base N   first port of the stack (default 26000)
  --json          one JSON object instead of lines`;

const { values } = readArguments(HELP, {
  "port-base": { type: "string", default: "26000" },
  json: { type: "boolean", default: false },
});

/** What was measured, in seconds. */
interface Figures {
  cores: number;
  firstStartSeconds: number;
  secondStartSeconds: number;
  demoSeconds: Record<string, number>;
}

const say = (text: string): void => {
  if (!values.json) console.log(text);
};

/** Starts the stack of a clone, runs `body` when it is ready, ends it by ctrl-C; returns the seconds to ready. */
async function started(clone: string, body: () => void): Promise<number> {
  const began = performance.now();
  const child = spawn("npm", ["start", "--silent", "--", "--port-base", values["port-base"]], {
    cwd: clone,
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
  const args = ["run", "demo", "--silent", "--", "--json", "--scenario", scenario];
  const output = execFileSync("npm", args, { cwd: clone, encoding: "utf8" });
  return (JSON.parse(output) as { seconds: number }).seconds;
}

const folder = mkdtempSync(join(tmpdir(), "marketplace-bench-"));
const clone = join(folder, "clone");
try {
  const root = join(import.meta.dirname, "..", "..");
  execFileSync("git", ["clone", "--quiet", root, clone]);
  const figures: Figures = {
    cores: availableParallelism(),
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
  if (values.json) console.log(JSON.stringify(figures));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
