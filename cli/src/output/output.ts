import type { FailureParts } from "../failure.ts";
import type { Block } from "./blocks.ts";
import { layOut } from "./layout.ts";
import type { Layout } from "./layout.ts";
import { oneLine, safeJson, safeText } from "./safe-text.ts";

/** A stream of the process, as far as it matters here. */
export interface Sink {
  write(text: string): unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}

/** How a command shows what it does. */
export interface OutputOptions {
  stdout: Sink;
  stderr: Sink;
  /** Results and errors are JSON. */
  json: boolean;
  hasNoColor: boolean;
}

/** What takes longer than this says so. */
const PROGRESS_AFTER_MS = 2_000;
const PROGRESS_EVERY_MS = 1_000;

/** Writes results to standard output, and everything else to standard error. */
export class Output {
  readonly #options: OutputOptions;

  constructor(options: OutputOptions) {
    this.#options = options;
  }

  get isJson(): boolean {
    return this.#options.json;
  }

  /** The result of a command, once: as JSON, or as blocks for a reader. */
  result(data: unknown, show: () => readonly Block[]): void {
    const { json, stdout } = this.#options;
    if (json) {
      stdout.write(`${safeJson(data, 2)}\n`);
    } else {
      for (const line of layOut(show(), this.#layout(stdout))) stdout.write(`${line}\n`);
    }
  }

  /** One of many results, as a line of JSON. */
  line(data: unknown): void {
    this.#options.stdout.write(`${safeJson(data)}\n`);
  }

  /** A remark for a reader, beside the result. */
  note(text: string): void {
    this.#options.stderr.write(`${safeText(text)}\n`);
  }

  /** Blocks for a reader, beside the result. */
  noteBlocks(blocks: readonly Block[]): void {
    const { stderr } = this.#options;
    for (const line of layOut(blocks, this.#layout(stderr))) stderr.write(`${line}\n`);
  }

  /** Why a command ends without a result. */
  failure(parts: FailureParts): void {
    const { json, stdout, stderr } = this.#options;
    if (json) stdout.write(failureJson(parts));
    const { message, code, whatToDo } = parts;
    stderr.write(`error: ${oneLine(message)} (${oneLine(code)})\nnext:  ${oneLine(whatToDo)}\n`);
  }

  /** Says what it waits for, where that takes longer than two seconds. */
  async progress<T>(what: string, work: Promise<T>): Promise<T> {
    const { stderr } = this.#options;
    const begun = performance.now();
    const isTerminal = stderr.isTTY === true;
    let timer: NodeJS.Timeout | undefined;
    const show = (): void => {
      const seconds = Math.floor((performance.now() - begun) / 1_000);
      stderr.write(isTerminal ? `\r${safeText(what)} … ${seconds} s` : `${safeText(what)} …\n`);
      if (isTerminal) timer = setTimeout(show, PROGRESS_EVERY_MS);
    };
    timer = setTimeout(show, PROGRESS_AFTER_MS);
    try {
      return await work;
    } finally {
      clearTimeout(timer);
      if (isTerminal && performance.now() - begun >= PROGRESS_AFTER_MS) stderr.write("\r\u001b[K");
    }
  }

  #layout({ isTTY = false, columns }: Sink): Layout {
    return { width: isTTY && columns !== undefined ? columns : Infinity, hasColor: isTTY && !this.#options.hasNoColor };
  }
}

/** A failure as the output of `--json`. */
export const failureJson = (parts: FailureParts): string => `${safeJson({ error: parts }, 2)}\n`;
