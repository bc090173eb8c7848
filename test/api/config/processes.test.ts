import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { assert } from "chai";

import { connectDatabase } from "../../../api/db/connection.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { findFreePorts } from "../../../scripts/local/ports.ts";
import { readStack } from "../../fixtures/api.ts";
import { networkVariables } from "../../fixtures/environment.ts";

const silent = createLogger({ level: "silent", name: "test" });
const STRONG_SECRET = "0123456789abcdef0123456789abcdef";

describe("processes", () => {
  const databaseName = `test_process_${process.pid}`;
  after(async () => {
    const connection = await connectDatabase((await readStack()).mongodbUri, silent, databaseName);
    await connection.dropDatabase();
    await connection.close();
  });

  const main = (file: string) => new URL(`../../../api/${file}`, import.meta.url).pathname;

  async function environment(): Promise<Record<string, string>> {
    const stack = await readStack();
    const uri = new URL(stack.mongodbUri);
    uri.pathname = `/${databaseName}`;
    return {
      PATH: process.env["PATH"] ?? "",
      PORT: String(await findFreePorts(1)),
      MONGODB_URI: uri.href,
      WEBHOOK_SIGNING_SECRET: STRONG_SECRET,
      ...networkVariables(stack),
    };
  }

  function run(file: string, env: Record<string, string>) {
    const child = spawn(process.execPath, [main(file)], { env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const ended = new Promise<number | null>((resolve) => child.on("exit", resolve));
    const said = async (text: string): Promise<void> => {
      for (let waited = 0; !output.includes(text); waited += 50) {
        assert.ok(waited < 45_000 && child.exitCode === null, `${file} did not say "${text}": ${output}`);
        await sleep(50);
      }
    };
    return { child, ended, said, output: () => output };
  }

  it("the API starts, answers and ends at SIGTERM, even with a connection kept open", async () => {
    const env = await environment();
    const api = run("server.ts", env);
    await api.said("API listens");
    const answer = await fetch(`http://127.0.0.1:${env["PORT"]}/health`);
    assert.strictEqual(answer.status, 200);
    api.child.kill("SIGTERM");
    assert.strictEqual(await api.ended, 0, api.output());
  });

  it("two workers run side by side on one database, say so at any log level, and end at SIGINT", async () => {
    const env = await environment();
    const workers = [run("worker.ts", env), run("worker.ts", { ...env, LOG_LEVEL: "error" })];
    for (const worker of workers) await worker.said("worker runs");
    for (const worker of workers) worker.child.kill("SIGINT");
    assert.deepEqual(
      await Promise.all(workers.map(({ ended }) => ended)),
      [0, 0],
      workers.map(({ output }) => output()).join("\n"),
    );
  });

  it("[S6.35] in production API and worker refuse to start without the signing secret and say so", async () => {
    const env = { ...(await environment()), NODE_ENV: "production", WEBHOOK_SIGNING_SECRET: "" };
    for (const file of ["server.ts", "worker.ts"]) {
      const started = run(file, env);
      assert.notStrictEqual(await started.ended, 0, file);
      assert.match(started.output(), /WEBHOOK_SIGNING_SECRET is missing/, file);
    }
  });

  it("without deployed contracts the API refuses to start and says what to do", async () => {
    const dir = await mkdtemp(join(tmpdir(), "deployments-"));
    const file = join(dir, "broken.json");
    await writeFile(file, "{}");
    const env = await environment();
    for (const path of [join(dir, "absent.json"), file]) {
      const api = run("server.ts", { ...env, DEPLOYMENT_BASE: path });
      assert.notStrictEqual(await api.ended, 0);
      assert.ok(api.output().includes(path), api.output());
    }
    await rm(dir, { recursive: true });
  });

  it("a taken port ends the API with the port in its message", async () => {
    const env = await environment();
    const holder = createServer().listen(Number(env["PORT"]), "127.0.0.1");
    const api = run("server.ts", env);
    assert.notStrictEqual(await api.ended, 0);
    assert.ok(api.output().includes(env["PORT"] ?? "?"), api.output());
    holder.close();
  });
});
