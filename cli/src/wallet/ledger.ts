import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { z } from "zod";

import { ToolRefusal } from "../../../tools/src/index.ts";
import { dayOf, LedgerState, recordSchema } from "./ledger-entries.ts";
import type { Entry, LedgerRecord } from "./ledger-entries.ts";
import { createPrivateFile, readPrivateFile, writePrivateFile } from "./private-files.ts";
import type { Seal } from "./seal.ts";

/** Where the ledger is. The head lies apart, so that a restored copy of one of the two is noticed. */
export interface LedgerPlace {
  /** Directory of the ledgers: `1/`, and after each repair the next. */
  folder: string;
  /** File that names the latest record. */
  headFile: string;
}

/** A step of writing, for tests that kill the process there. */
export type LedgerStep = "before-record" | "after-record" | "after-head";

/** Parts of a ledger. */
export interface LedgerParts {
  place: LedgerPlace;
  /** Authenticates the records and the head. */
  seals: { ledger: Seal; head: Seal };
  now?: (() => Date) | undefined;
  onStep?: ((step: LedgerStep) => void) | undefined;
}

const units = z.string().regex(/^\d{1,40}$/);
const headSchema = z.strictObject({
  /** Which of the ledgers it is. */
  ledger: z.int().positive(),
  count: z.int().positive(),
  /** MAC of the record with the number `count`. */
  last: z.string(),
  totalUsd: units,
  day: z.iso.date(),
  dayUsd: units,
  limitsHash: z.string().nullable(),
});
type Head = z.output<typeof headSchema>;

const DIGITS = 8;
const NAME = new RegExp(`^\\d{${String(DIGITS)}}\\.json$`);
const fileName = (n: number): string => `${String(n).padStart(DIGITS, "0")}.json`;
const REPAIR_ID_LENGTH = 12;

/** Why a ledger can't be used. */
export interface Damage {
  /** What a person approves: this damage and no other. */
  id: string;
  what: string;
}

/**
 * What a wallet has spent, for all its processes. Each record is a file of its own that names the one before and is made
 * whole in one step, which fails if another process has made it first: that process then decides again, with the other's
 * record counted. So nothing is locked, and a process that is killed leaves nothing behind.
 */
export class Ledger {
  readonly #place: LedgerPlace;
  readonly #seals: LedgerParts["seals"];
  readonly #now: () => Date;
  readonly #onStep: (step: LedgerStep) => void;
  /** The ledger that `#state` has been read of. */
  #number = 0;
  #state = new LedgerState();
  /** Calls of this process go one after another, because they share the state. */
  #last: Promise<unknown> = Promise.resolve();

  constructor({ place, seals, now = () => new Date(), onStep = () => undefined }: LedgerParts) {
    this.#place = place;
    this.#seals = seals;
    this.#now = now;
    this.#onStep = onStep;
  }

  /** Makes the first ledger of a wallet. Nothing changes if there is one. */
  async create(): Promise<void> {
    if ((await this.#numbers()).length > 0 || (await readPrivateFile(this.#place.headFile)) !== undefined) return;
    await this.#begin(1, { totalUsd: 0n, dayUsd: 0n, limitsHash: null });
  }

  /**
   * Writes what `decide` makes of all that was written before. It may be called again, when another process was first.
   * @param decide returns the entry to write, or undefined to write nothing; it throws to refuse
   * @throws ToolRefusal `confirmation_required` if the ledger is missing, older than its head, or altered
   */
  write(decide: (state: LedgerState, now: Date) => Entry | undefined): Promise<LedgerState> {
    return this.#inTurn(() => this.#write(decide));
  }

  /** What was written so far. @throws ToolRefusal as `write` */
  read(): Promise<LedgerState> {
    return this.#inTurn(() => this.#read());
  }

  /** Why the ledger can't be used; undefined if it can. */
  damage(): Promise<Damage | undefined> {
    return this.#inTurn(() => this.#refresh());
  }

  /**
   * Begins a new ledger after a person has seen the damage. It carries over the most that either the head or the readable
   * records count; the old files stay where they are.
   * @returns whether this was the ledger's damage
   */
  repair(id: string): Promise<boolean> {
    return this.#inTurn(() => this.#repair(id));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #write(decide: (state: LedgerState, now: Date) => Entry | undefined): Promise<LedgerState> {
    for (;;) {
      const state = await this.#read();
      const at = this.#now();
      const entry = decide(state, at);
      if (entry === undefined) return state;
      const unsigned = { n: state.count + 1, previous: state.last, at: at.toISOString(), entry };
      const record: LedgerRecord = { ...unsigned, mac: this.#seals.ledger.macOf(unsigned) };
      this.#onStep("before-record");
      const file = join(this.#folder(this.#number), fileName(record.n));
      if (!(await createPrivateFile(file, `${JSON.stringify(record)}\n`))) continue;
      this.#onStep("after-record");
      state.add(record);
      await this.#writeHead();
      this.#onStep("after-head");
      return state;
    }
  }

  async #read(): Promise<LedgerState> {
    const damage = await this.#refresh();
    if (damage === undefined) return this.#state;
    throw new ToolRefusal({
      code: "confirmation_required",
      message: `The wallet's ledger ${damage.what}, so nobody knows what was spent. Nothing was signed.`,
      whatToDo: `The wallet's owner has to look at it and run: agent-marketplace approve ${damage.id}`,
    });
  }

  async #repair(id: string): Promise<boolean> {
    const damage = await this.#refresh();
    if (damage?.id !== id) return false;
    const numbers = await this.#numbers();
    const latest = Math.max(0, ...numbers);
    const head = await this.#readHead();
    const readable = new LedgerState();
    if (latest > 0) await this.#readOn(latest, readable);
    const day = dayOf(this.#now());
    const ofHead = head?.day === day ? BigInt(head.dayUsd) : 0n;
    await this.#begin(latest + 1, {
      totalUsd: larger(readable.totalUsd, BigInt(head?.totalUsd ?? 0)),
      dayUsd: larger(readable.onDay(day), ofHead),
      // The records may be older than the limits, and the head isn't if it can be read.
      limitsHash: head?.limitsHash ?? null,
    });
    return true;
  }

  async #begin(
    number: number,
    { totalUsd, dayUsd, limitsHash }: { totalUsd: bigint; dayUsd: bigint; limitsHash: string | null },
  ): Promise<void> {
    const at = this.#now();
    const counted = { totalUsd: String(totalUsd), day: dayOf(at), dayUsd: String(dayUsd) };
    const entry: Entry = { kind: "opened", ...counted, limitsHash };
    const unsigned = { n: 1, previous: "", at: at.toISOString(), entry };
    const record: LedgerRecord = { ...unsigned, mac: this.#seals.ledger.macOf(unsigned) };
    await createPrivateFile(join(this.#folder(number), fileName(1)), `${JSON.stringify(record)}\n`);
    this.#number = number;
    this.#state = new LedgerState();
    await this.#readOn(number, this.#state);
    await this.#writeHead();
  }

  /** Reads what is new. The head is read first, because other processes go on writing meanwhile. */
  async #refresh(): Promise<Damage | undefined> {
    const head = await this.#readHead();
    if (head === undefined) return this.#damaged("has lost its head record, or that was altered");
    if (head.ledger !== this.#number) {
      this.#number = head.ledger;
      this.#state = new LedgerState();
    }
    const state = this.#state;
    if (state.count > 0) {
      const known = await this.#readRecord(head.ledger, state.count);
      if (known?.mac !== state.last) return this.#damaged("was altered, or is missing");
    }
    const problem = await this.#readOn(head.ledger, state, head);
    return problem === undefined ? undefined : this.#damaged(problem);
  }

  /** Adds the records after those of the state. @returns what is wrong with them */
  async #readOn(number: number, state: LedgerState, head?: Head): Promise<string | undefined> {
    const names = await this.#recordsOf(number);
    if (names.length === 0) return "is missing";
    let headSeen = head === undefined || head.count < state.count || head.last === state.last;
    for (let n = state.count + 1; n <= names.length; n += 1) {
      const record = await this.#readRecord(number, n);
      if (record === undefined || record.previous !== state.last) return `was altered in record ${String(n)}`;
      state.add(record);
      if (head?.count === n) headSeen = head.last === record.mac;
    }
    if (names.at(-1) !== fileName(names.length)) return "has a gap";
    if (head !== undefined && state.count < head.count) return "is older than its head record says";
    return headSeen ? undefined : "was altered";
  }

  async #readRecord(number: number, n: number): Promise<LedgerRecord | undefined> {
    try {
      const parsed = recordSchema.safeParse(
        JSON.parse(await readFile(join(this.#folder(number), fileName(n)), "utf8")),
      );
      if (!parsed.success || parsed.data.n !== n) return undefined;
      const { mac, ...unsigned } = parsed.data;
      return this.#seals.ledger.isMacOf(mac, unsigned) ? parsed.data : undefined;
    } catch {
      return undefined;
    }
  }

  async #recordsOf(number: number): Promise<string[]> {
    return (await namesIn(this.#folder(number))).filter((name) => NAME.test(name)).toSorted();
  }

  /** The ledgers that there are. */
  async #numbers(): Promise<number[]> {
    return (await namesIn(this.#place.folder)).filter((name) => /^[1-9]\d{0,5}$/.test(name)).map(Number);
  }

  #folder(number: number): string {
    return join(this.#place.folder, String(number));
  }

  async #readHead(): Promise<Head | undefined> {
    const text = await readPrivateFile(this.#place.headFile);
    if (text === undefined) return undefined;
    const parsed = headSchema.safeParse(this.#seals.head.open(text));
    return parsed.success ? parsed.data : undefined;
  }

  /** Writes the head until it names the latest record: of two processes, the slower one may write an older head last. */
  async #writeHead(): Promise<void> {
    for (;;) {
      const { count, last, totalUsd, limitsHash = null } = this.#state;
      const day = dayOf(this.#now());
      const dayUsd = String(this.#state.onDay(day));
      const counted = { totalUsd: String(totalUsd), day, dayUsd, limitsHash };
      const head: Head = { ledger: this.#number, count, last, ...counted };
      await writePrivateFile(this.#place.headFile, this.#seals.head.close(head));
      await this.#readOn(this.#number, this.#state);
      if (this.#state.count === count) return;
    }
  }

  /** The id depends on the files alone, so that every process names the same damage alike. */
  async #damaged(what: string): Promise<Damage> {
    const files = [];
    for (const number of await this.#numbers()) {
      for (const name of await this.#recordsOf(number)) {
        files.push([number, name, await readFile(join(this.#folder(number), name), "utf8").catch(() => null)]);
      }
    }
    const head = (await readPrivateFile(this.#place.headFile)) ?? null;
    return { id: `ledger-${this.#seals.head.macOf({ files, head }).slice(0, REPAIR_ID_LENGTH)}`, what };
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);
