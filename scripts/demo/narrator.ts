import { styleText } from "node:util";

/** Prints each step of a deal with its requests, its answers and its duration. */
export class Narrator {
  #step = 0;
  readonly #started = performance.now();
  readonly #quiet: boolean;

  /** @param quiet prints nothing */
  constructor(quiet = false) {
    this.#quiet = quiet;
  }

  /** Runs one step and prints its title, how long it took and the lines that `body` notes. */
  async step<T>(title: string, body: (note: (text: string) => void) => Promise<T>): Promise<T> {
    this.#step += 1;
    const notes: string[] = [];
    const started = performance.now();
    this.#print(styleText("bold", `${String(this.#step).padStart(2)}. ${title}`));
    try {
      const result = await body((text) => notes.push(text));
      for (const note of notes) this.#print(`      ${note}`);
      this.#print(styleText("dim", `      ${(performance.now() - started).toFixed(0)} ms`));
      return result;
    } catch (error) {
      for (const note of notes) this.#print(`      ${note}`);
      throw error;
    }
  }

  /** Seconds since the demo began. */
  elapsedSeconds(): number {
    return (performance.now() - this.#started) / 1000;
  }

  /** Prints a line outside the steps. */
  line(text: string): void {
    this.#print(text);
  }

  #print(text: string): void {
    if (!this.#quiet) console.log(text);
  }
}
