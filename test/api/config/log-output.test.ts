import { spawn } from "node:child_process";
import { once } from "node:events";

import { assert } from "chai";

const LOGGER = new URL("../../../api/lib/logger.ts", import.meta.url).href;
const PROCESS = new URL("../../../api/lib/process.ts", import.meta.url).href;
const LINES = 500;
/** Logs more lines than one write takes. */
const LOGGING = `
  import { createLogger } from ${JSON.stringify(LOGGER)};
  import { runProcess } from ${JSON.stringify(PROCESS)};
  const log = createLogger({ level: "info", name: "test" });
  for (let line = 0; line < ${LINES}; line += 1) log.info({ line }, "a line");
`;

/** Runs a program to its end, after a signal if one is given, and returns its log. */
async function logOf(program: string, signal?: NodeJS.Signals) {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", LOGGING + program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
    if (signal !== undefined && output.includes("ready")) child.kill(signal);
  });
  const [code] = (await once(child, "close")) as [number | null];
  const entries = output
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { line?: number; msg: string });
  // A write that is under way when the process ends may come after those of its end, so only the set of lines counts.
  const lines = entries.flatMap(({ line }) => line ?? []).sort((one, other) => one - other);
  return { code, entries, lines };
}

describe("the log of a process", () => {
  const all = Array.from({ length: LINES }, (_, line) => line);

  it("is complete when the process exits right after its last line", async () => {
    const { code, lines } = await logOf("process.exit(3);");
    assert.strictEqual(code, 3);
    assert.deepEqual(lines, all);
  });

  it("is complete when nothing is left to do", async () => {
    assert.deepEqual((await logOf("")).lines, all);
  });

  it("is complete after SIGTERM, the last line included", async () => {
    const wait =
      'await runProcess(log, async () => { setInterval(() => {}, 1_000); log.info("ready"); return async () => {}; });';
    const { code, lines, entries } = await logOf(wait, "SIGTERM");
    assert.strictEqual(code, 0);
    assert.deepEqual(lines, all);
    assert.ok(entries.some(({ msg }) => msg === "stopping"));
  });

  it("is complete after an uncaught error, and has that error", async () => {
    const fail =
      'await runProcess(log, async () => { setTimeout(() => { throw new Error("boom"); }); return async () => {}; });';
    const { code, lines, entries } = await logOf(fail);
    assert.strictEqual(code, 1);
    assert.deepEqual(lines, all);
    assert.ok(entries.some(({ msg }) => msg === "uncaught exception"));
  });
});
