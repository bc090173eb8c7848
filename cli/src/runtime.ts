import type { Readable } from "node:stream";

import type { Environment } from "./config/environment.ts";
import { EXIT } from "./exit-codes.ts";
import type { ExitCode } from "./exit-codes.ts";
import { Output } from "./output/output.ts";
import type { Sink } from "./output/output.ts";

/** Standard input: a terminal, or bytes of a file or of another program. */
export type Input = Readable & { isTTY?: boolean | undefined };

/** One run of the program. */
export class Runtime {
  readonly environment: Environment;
  /** The arguments as they were given. */
  readonly argv: readonly string[];
  readonly stdin: Input;
  readonly stdout: Sink;
  readonly stderr: Sink;
  /** Aborted by SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
  exitCode: ExitCode = EXIT.done;
  /** Set once a command may have changed something: its repeat needs this intent. */
  intentId: string | undefined;
  /** The command ends by itself when {@link signal} is aborted. */
  endsBySignal = false;

  constructor(parts: Pick<Runtime, "environment" | "argv" | "stdin" | "stdout" | "stderr" | "signal">) {
    this.environment = parts.environment;
    this.argv = parts.argv;
    this.stdin = parts.stdin;
    this.stdout = parts.stdout;
    this.stderr = parts.stderr;
    this.signal = parts.signal;
  }

  output({ json = false }: { json?: boolean | undefined }): Output {
    const { stdout, stderr, environment } = this;
    return new Output({ stdout, stderr, json, hasNoColor: environment.hasNoColor });
  }

  /** The command line that repeats this run with the same intent. */
  repeat(intentId: string): string {
    const argv = this.argv.includes("--intent") ? this.argv : [...this.argv, "--intent", intentId];
    return ["agent-marketplace", ...argv.map(quoted)].join(" ");
  }
}

/** An argument as a shell takes it. */
const quoted = (argument: string): string =>
  /^[A-Za-z0-9._:/@%+=,-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
