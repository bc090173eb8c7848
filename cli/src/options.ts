import { readFile } from "node:fs/promises";

import { InvalidArgumentError } from "commander";

import { usageFailure } from "./failure.ts";
import type { Input } from "./runtime.ts";

/** Reads whole numbers of an option. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d{1,15}$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`must be a whole number from ${least} to ${most}`);
  };
}

/** Reads decimal numbers of an option. */
export function decimal(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d{1,15}(\.\d{1,15})?$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`must be a number from ${least} to ${most}`);
  };
}

/** Reads names of an option, with commas between; `none` is no name. */
export const listOf = (text: string): string[] => (text === "none" ? [] : text.split(",").map((item) => item.trim()));

/** Reads an option that is yes or no. */
export function yesOrNo(text: string): boolean {
  if (text === "yes" || text === "no") return text === "yes";
  throw new InvalidArgumentError("must be yes or no");
}

/** More than any request or result may have. */
const MAX_INPUT_BYTES = 2_000_000;

/** The JSON of a file, or of standard input for `-`. @throws CommandFailure that names the option */
export async function readJson(option: string, file: string, stdin: Input): Promise<unknown> {
  const text = await readText(option, file, stdin);
  try {
    return JSON.parse(text);
  } catch {
    throw usageFailure(`${option}: ${file} isn't JSON`, "Correct the file.");
  }
}

/** The JSON object of a file, or of standard input for `-`. */
export async function readJsonObject(option: string, file: string, stdin: Input): Promise<Record<string, unknown>> {
  const value = await readJson(option, file, stdin);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw usageFailure(
    `${option}: ${file} must hold a JSON object`,
    'Put the value into an object, such as {"value": …}.',
  );
}

/** A file's text, or that of standard input for `-`. */
export async function readText(option: string, file: string, stdin: Input): Promise<string> {
  try {
    const bytes = file === "-" ? await readStandardInput(stdin) : await readFile(file);
    if (bytes.length > MAX_INPUT_BYTES) {
      throw usageFailure(`${option}: ${file} has more than ${MAX_INPUT_BYTES} bytes`, "Send a reference instead.");
    }
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof TypeError) throw usageFailure(`${option}: ${file} isn't UTF-8 text`, "Convert the file.");
    if (code === undefined) throw error;
    throw usageFailure(`${option}: ${file} can't be read (${code})`, "Name a file that can be read.");
  }
}

async function readStandardInput(stdin: Input): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
