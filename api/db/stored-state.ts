import type { Connection } from "mongoose";

import { isDuplicateKey } from "./connection.ts";
import { collection, mixed, number, text } from "./records.ts";

const stateFields = {
  /** Its name. */
  _id: text,
  value: mixed<unknown>(),
  /** Rises with every write. */
  version: number,
};

/** A value as it was read, and the version to name when it is written again: 0 if there is none yet. */
export interface Versioned<Value> {
  value: Value | null;
  version: number;
}

/** A value that survives its process. Of several processes that have read the same version, one can write the next. */
export class StoredState<Value extends object> {
  readonly #name: string;
  readonly #states;

  constructor(connection: Connection, name: string) {
    this.#name = name;
    this.#states = collection(connection, "StoredState", "stored_states", stateFields);
  }

  async read(): Promise<Versioned<Value>> {
    const stored = await this.#states.findById(this.#name).lean();
    return { value: (stored?.value ?? null) as Value | null, version: stored?.version ?? 0 };
  }

  /** @returns false, and writes nothing, if another process has written since this version was read */
  async write(value: Value, version: number): Promise<boolean> {
    const next = { _id: this.#name, value, version: version + 1 };
    try {
      await this.#states.replaceOne({ _id: this.#name, version }, next, { upsert: true });
      return true;
    } catch (error) {
      // The stored state has another version, so the upsert tried to insert a second one.
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }
}
