import { spawn } from "node:child_process";
import { createWriteStream, mkdirSync } from "node:fs";
import { dirname } from "node:path";

/** How a command ended. */
export interface Outcome {
  code: number;
  /** The output if `capture` was set, else empty. */
  output: string;
  seconds: number;
}

/** Options of {@link run}. */
export interface RunOptions {
  env?: Record<string, string>;
  /** Working directory; this process's by default. */
  cwd?: string;
  /** Return the output instead of showing it. */
  capture?: boolean;
  /** Also write the output to this file. */
  log?: string;
  /** Ends the command when aborted. */
  signal?: AbortSignal;
}

/** Runs a command to its end. Shows its output as it comes unless `capture` is set. */
export function run(command: string, args: string[], options: RunOptions = {}): Promise<Outcome> {
  const started = performance.now();
  const log = options.log === undefined ? undefined : openLog(options.log);
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: ["ignore", "pipe", "pipe"],
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
    });
    let output = "";
    const take = (sink: NodeJS.WriteStream) => (chunk: Buffer) => {
      log?.write(chunk);
      if (options.capture === true) output += chunk.toString();
      else sink.write(chunk);
    };
    child.stdout.on("data", take(process.stdout));
    child.stderr.on("data", take(process.stderr));
    const terminate = (): void => void child.kill("SIGTERM");
    options.signal?.addEventListener("abort", terminate);
    const end = (code: number): void => {
      options.signal?.removeEventListener("abort", terminate);
      log?.end();
      resolve({ code, output, seconds: (performance.now() - started) / 1000 });
    };
    child.on("error", (error) => {
      output += error.message;
      end(1);
    });
    child.on("close", (code) => {
      end(code ?? 1);
    });
  });
}

function openLog(file: string): NodeJS.WritableStream {
  mkdirSync(dirname(file), { recursive: true });
  return createWriteStream(file);
}
