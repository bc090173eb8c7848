import { openSync } from "node:fs";
import { ReadStream, WriteStream } from "node:tty";

import { readPrivateFile } from "./private-files.ts";
import { WalletError } from "./wallet-error.ts";

/** Longest password in characters. */
const MAX_LENGTH = 1_024;

/** Where the password comes from: a file that only its owner can read, or else a terminal. */
export interface PasswordSource {
  /** Path of `--password-file` or `AGENT_MARKETPLACE_PASSWORD_FILE`. */
  file?: string | undefined;
  /** What the terminal shows; `Password of the wallet: ` by default. */
  prompt?: string | undefined;
}

/**
 * Reads the wallet's password, never from an argument or a variable.
 * @throws WalletError `password_missing` without file and terminal, or if it is empty; `open_to_others` for the file
 */
export async function readPassword({ file, prompt }: PasswordSource): Promise<string> {
  if (file === undefined) return checked(await askOnTerminal(prompt ?? "Password of the wallet: "), "What was typed");
  const text = await readPrivateFile(file);
  if (text === undefined) throw missing(`There is no file ${file} with the password.`);
  return checked(text.replace(/\r?\n$/, ""), file);
}

function checked(password: string, source: string): string {
  if (password === "") throw missing(`${source} is empty.`);
  if (password.length <= MAX_LENGTH && !/[\r\n]/.test(password)) return password;
  throw missing(`${source} isn't one line of at most ${String(MAX_LENGTH)} characters.`);
}

function missing(message: string): WalletError {
  const whatToDo = "Run it on a terminal, or name a file of mode 600 with --password-file.";
  return new WalletError("password_missing", message, whatToDo);
}

/** Asks the terminal itself, so that standard input can be a key or a request. */
async function askOnTerminal(prompt: string): Promise<string> {
  const { input, output } = openTerminal();
  try {
    output.write(prompt);
    input.setRawMode(true);
    return await readLine(input);
  } finally {
    input.setRawMode(false);
    output.write("\n");
    input.destroy();
    output.destroy();
  }
}

function openTerminal(): { input: ReadStream; output: WriteStream } {
  try {
    return { input: new ReadStream(openSync("/dev/tty", "r")), output: new WriteStream(openSync("/dev/tty", "w")) };
  } catch {
    throw missing("The wallet's password is needed, and there is no terminal to ask for it.");
  }
}

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";

function readLine(input: ReadStream): Promise<string> {
  return new Promise((resolve, reject) => {
    let line = "";
    input.setEncoding("utf8");
    input.on("error", reject);
    input.on("data", (chunk: string) => {
      for (const character of chunk) {
        if (character === CTRL_C || character === CTRL_D) reject(missing("No password was given."));
        else if (character === "\r" || character === "\n") resolve(line);
        else if (character === "\u007f" || character === "\b") line = line.slice(0, -1);
        else line += character;
      }
    });
  });
}
