import type { Command } from "commander";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

import { createMcpServer } from "../../../tools/src/index.ts";
import type { ToolContext } from "../../../tools/src/index.ts";
import type { Runtime } from "../runtime.ts";
import { addCommand, does } from "./define.ts";
import { takesPassword, unlockWallet } from "./signing.ts";
import type { SigningOptions } from "./signing.ts";
import { VERSION } from "../version.ts";

/** Adds `mcp`: the tools for a model, with a wallet that signs within its limits. */
export function addMcp(program: Command, runtime: Runtime): void {
  const mcp = takesPassword(
    addCommand(program, "mcp", "serve the tools over MCP on standard input and output, signing within the limits"),
  );
  does<SigningOptions>(mcp, runtime, async (session, options) => {
    const wallet = await unlockWallet(session, options);
    const { market, signer } = wallet;
    const context: ToolContext = { market, agent: market.agent({ apiKey: session.requireKey() }), signer };
    session.output.note(`Serving the tools as ${wallet.address} at ${wallet.pins.url}, within its limits.`);
    const closed = new Promise<void>((resolve) => {
      process.stdin.once("close", resolve).once("end", resolve);
      runtime.signal.addEventListener("abort", () => {
        resolve();
      });
    });
    runtime.endsBySignal = true;
    const handle = serveStdio(() => createMcpServer({ version: VERSION, open: () => ({ context }) }), {
      // Standard output has the protocol and nothing else.
      onerror: (error) => {
        session.output.note(`mcp: ${error.message}`);
      },
    });
    await closed;
    await handle.close();
    return undefined;
  });
}
