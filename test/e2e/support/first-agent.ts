import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { assert } from "chai";

import type { StackFacts } from "../../../scripts/local/facts.ts";
import { installPythonTools } from "../../../scripts/testing/python-tools.ts";
import { inheritedVariables } from "../../fixtures/environment.ts";
import { exampleOf } from "../../fixtures/page-example.ts";

const PAGE = "docs/first-agent.md";
const VENV = resolve(".local", "python-client", "venv");
const REQUIREMENTS = resolve("test", "e2e", "deals", "python-client", "requirements.txt");
const LIMIT_MS = 180_000;
const run = promisify(execFile);

/** Somebody who follows docs/first-agent.md in a folder of their own. */
export class PageReader {
  readonly #dir: string;
  readonly #stack: StackFacts;
  readonly #env: Record<string, string>;

  /** @param dir an existing folder, which becomes the reader's home */
  constructor(dir: string, stack: StackFacts) {
    this.#dir = dir;
    this.#stack = stack;
    const bin = join(dir, "bin");
    mkdirSync(bin);
    const program = join(bin, "agent-marketplace");
    // test/api/downloads installs the package; this is the same program.
    writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${resolve("cli", "src", "main.ts")}' "$@"\n`);
    chmodSync(program, 0o755);
    this.#env = {
      ...(inheritedVariables() as Record<string, string>),
      PATH: `${bin}:${process.env["PATH"] ?? ""}`,
      HOME: dir,
      AGENT_MARKETPLACE_PASSWORD_FILE: this.passwordFile,
    };
  }

  get passwordFile(): string {
    return join(this.#dir, "password");
  }

  /** A block of the page, word by word but for the addresses of the stack. */
  block(name: string): string {
    const rpcUrl = this.#stack.networks["base-sepolia"]?.rpcUrl;
    assert.ok(this.#stack.api !== undefined && rpcUrl !== undefined);
    return exampleOf(PAGE, name)
      .replaceAll("http://127.0.0.1:3000", this.#stack.api)
      .replaceAll("http://127.0.0.1:8545", rpcUrl);
  }

  /** Runs a block in a shell that ends at the first failure. @returns what it prints */
  async shell(name: string): Promise<string> {
    return this.#output("bash", ["-e", "-o", "pipefail", "-c", this.block(name)]);
  }

  /** Starts the server that the page configures, and makes the calls that it lists. @returns their results */
  async mcp(): Promise<any[]> {
    const config = JSON.parse(this.block("config").replace("/home/you/password", this.passwordFile));
    const { command, args, env } = config.mcpServers["agent-marketplace"];
    const client = new Client({ name: "reader", version: "1" });
    const place = { env: { ...this.#env, ...env }, cwd: this.#dir, stderr: "ignore" } as const;
    await client.connect(new StdioClientTransport({ command, args, ...place }));
    const results = [];
    try {
      let calls = this.block("calls");
      for (let index = 0; ; index += 1) {
        const call = JSON.parse(calls)[index];
        if (call === undefined) return results;
        const { structuredContent, content, isError } = await client.callTool(call, { timeout: LIMIT_MS });
        assert.notOk(isError, JSON.stringify(content));
        results.push(structuredContent);
        // The next call names what this one has found.
        for (const [id, kind = ""] of JSON.stringify(structuredContent).matchAll(/\b(lst|txn)_[0-9a-f]{16,}/g)) {
          calls = calls.replaceAll(`${kind}_…`, id);
        }
      }
    } finally {
      await client.close();
    }
  }

  /** @returns what the Python program prints; undefined where its packages can't be installed */
  async python(): Promise<string | undefined> {
    try {
      await installPythonTools(VENV, REQUIREMENTS, () => undefined);
    } catch (error) {
      console.log(`skipped: the Python packages can't be installed: ${(error as Error).message}`);
      return undefined;
    }
    return this.#output(join(VENV, "bin", "python"), ["-c", this.block("first_agent.py")]);
  }

  async #output(command: string, args: string[]): Promise<string> {
    try {
      return (await run(command, args, { cwd: this.#dir, env: this.#env, timeout: LIMIT_MS })).stdout;
    } catch (error) {
      const { stdout, stderr } = error as { stdout: string; stderr: string };
      throw new Error(`${PAGE} failed:\n${stdout}\n${stderr}`, { cause: error });
    }
  }
}
