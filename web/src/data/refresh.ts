import type { Answer, Answers } from "./answers.ts";

const LIMIT_MS = 10_000;

/** Asks the API for the answers of a page. One that can't be had has status 0. */
export async function readAnswers(requests: Readonly<Record<string, string>>): Promise<Answers> {
  const asked = Object.entries(requests).map(async ([name, path]) => [name, await readAnswer(path)] as const);
  return Object.fromEntries(await Promise.all(asked));
}

async function readAnswer(path: string): Promise<Answer> {
  try {
    const response = await fetch(path, {
      headers: { accept: "application/json" },
      credentials: "omit",
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    return { status: response.status, body: await response.json() };
  } catch {
    return { status: 0, body: undefined };
  }
}
