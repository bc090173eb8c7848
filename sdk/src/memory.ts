import { segment } from "./arguments.ts";
import type * as wire from "./generated/api-types.ts";
import type { ApiResponse, CallOptions, CreateOptions, Http } from "./http.ts";
import { paginate } from "./pagination.ts";
import type { Page } from "./pagination.ts";

/** A memory entry. */
export type MemoryEntry = wire.MemoryEntry;
/** One version in an entry's history. */
export type MemoryVersion = wire.MemoryVersion;
/** An entry that answers a search, with its relevance from 0 to 1. */
export type MemoryMatch = wire.MemorySearchResponse["data"][number];
/** An entry to write. */
export type NewMemoryEntry = wire.MemoryWriteData["body"];
/** Filters of a list. */
export type MemoryFilter = Omit<NonNullable<wire.MemoryListData["query"]>, "cursor">;
/** Filters of a search. */
export type MemorySearchFilter = Omit<wire.MemorySearchData["body"], "query">;
/** The result of an import. `skipped` gives the positions of skipped entries in the import. */
export type MemoryImport = wire.MemoryImportResponse["data"];

/** Which entry of a key is meant. */
export interface MemoryOptions extends CallOptions {
  /** `default` by default. */
  namespace?: string;
}
/** Options of a change. */
export interface MemoryChangeOptions extends MemoryOptions {
  /** The version that the entry must have; otherwise `version_mismatch`. */
  ifMatch?: number;
}
/** Options of a write. */
export interface MemoryWriteOptions extends CreateOptions {
  /** The version that the entry must have; otherwise `version_mismatch`. */
  ifMatch?: number;
  /** Writes only if the entry doesn't exist yet; otherwise `version_mismatch`. */
  onlyNew?: boolean;
}

const PATH = "/api/v1/memory";
const pathOf = (key: string): string => `${PATH}/${segment("key", key)}`;
/** Limits of one import request: entries, and bytes with room for the JSON around them. */
const IMPORT_ENTRIES = 100;
const IMPORT_BYTES = 200_000;

const onlyIf = (version: number | undefined): Record<string, string> =>
  version === undefined ? {} : { "if-match": `"${version}"` };

/** An agent's memory. All errors are `ApiError`, `NetworkError` and `TimeoutError`. */
export class Memory {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Writes an entry, or the next version of one.
   * Errors: `version_mismatch`, `memory_read_only`, `memory_quota_exceeded`, `validation_error`.
   */
  async write(entry: NewMemoryEntry, options: MemoryWriteOptions = {}): Promise<MemoryEntry> {
    const { ifMatch, onlyNew = false, ...others } = options;
    const headers = { ...onlyIf(ifMatch), ...(onlyNew ? { "if-none-match": "*" } : {}) };
    const once = { idempotencyKey: crypto.randomUUID(), headers, ...others };
    return (await this.#http.post<wire.MemoryWriteResponse>(PATH, entry, once)).data;
  }

  /** Writes up to 100 entries, all or none. Errors: those of `write`. */
  async writeAll(entries: NewMemoryEntry[], options: CreateOptions = {}): Promise<MemoryEntry[]> {
    const once = { idempotencyKey: crypto.randomUUID(), ...options };
    return (await this.#http.post<wire.MemoryWriteBatchResponse>(`${PATH}/batch`, { entries }, once)).data;
  }

  /** An entry, or one of its last 50 versions. Errors: `not_found`. */
  async read(key: string, options: MemoryOptions & { version?: number } = {}): Promise<MemoryEntry> {
    const { namespace, version, ...others } = options;
    const query = { namespace, version };
    return (await this.#http.get<wire.MemoryReadResponse>(pathOf(key), { query, ...others })).data;
  }

  /** The entries of a namespace in the order of their keys. `audit` has the events of the agent's escrows. */
  list(filter: MemoryFilter = {}, options: CallOptions = {}): AsyncGenerator<MemoryEntry, void, undefined> {
    return paginate((cursor) => this.#http.get<Page<MemoryEntry>>(PATH, { query: { ...filter, cursor }, ...options }));
  }

  /** The best entries by meaning and words, best first. Errors: `search_unavailable`. */
  async search(query: string, filter: MemorySearchFilter = {}, options: CallOptions = {}): Promise<MemoryMatch[]> {
    const body = { query, ...filter };
    const request = { isIdempotent: true, ...options };
    return (await this.#http.post<wire.MemorySearchResponse>(`${PATH}/search`, body, request)).data;
  }

  /** The last 50 versions of an entry, newest first. Errors: `not_found`. */
  history(key: string, options: MemoryOptions = {}): AsyncGenerator<MemoryVersion, void, undefined> {
    const { namespace, ...others } = options;
    return paginate((cursor) =>
      this.#http.get<Page<MemoryVersion>>(`${pathOf(key)}/history`, { query: { namespace, cursor }, ...others }),
    );
  }

  /** Adds 90 days to an entry's life. Errors: `not_found`, `version_mismatch`, `memory_renewal_limit_reached`. */
  async renew(key: string, options: MemoryChangeOptions & CreateOptions = {}): Promise<MemoryEntry> {
    const { namespace, ifMatch, ...others } = options;
    const once = { idempotencyKey: crypto.randomUUID(), query: { namespace }, headers: onlyIf(ifMatch), ...others };
    return (await this.#http.post<wire.MemoryRenewResponse>(`${pathOf(key)}/renew`, {}, once)).data;
  }

  /** Deletes an entry with its history. Errors: `not_found`, `version_mismatch`, `memory_read_only`. */
  async remove(key: string, options: MemoryChangeOptions = {}): Promise<void> {
    const { namespace, ifMatch, ...others } = options;
    const request = { method: "DELETE", path: pathOf(key), query: { namespace }, headers: onlyIf(ifMatch) } as const;
    await this.#http.send({ ...request, ...others });
  }

  /** The current version of every entry as newline-delimited JSON, or of one namespace. */
  async export(options: MemoryOptions = {}): Promise<string> {
    const { namespace, ...others } = options;
    const request = { method: "GET", path: `${PATH}/export`, query: { namespace }, ...others } as const;
    const { body }: ApiResponse<string> = await this.#http.send<string>(request);
    return body;
  }

  /**
   * Imports the lines of an export in as many requests as they need. Repeating it changes nothing. What the requests before
   * a failed one wrote stays. Errors: `memory_quota_exceeded`, `validation_error`.
   * @throws SyntaxError for a line that isn't JSON
   */
  async import(lines: string, options: CallOptions = {}): Promise<MemoryImport> {
    const total: MemoryImport = { created: 0, updated: 0, unchanged: 0, skipped: [] };
    let first = 0;
    for (const entries of portions(lines)) {
      const once = { idempotencyKey: crypto.randomUUID(), ...options };
      const path = `${PATH}/import`;
      const bodyText = `{"entries":[${entries.join(",")}]}`;
      const request = { method: "POST", path, bodyText, ...once } as const;
      const { data } = (await this.#http.send<wire.MemoryImportResponse>(request)).body;
      total.created += data.created;
      total.updated += data.updated;
      total.unchanged += data.unchanged;
      const offset = first;
      total.skipped.push(...data.skipped.map((entry) => ({ ...entry, index: entry.index + offset })));
      first += entries.length;
    }
    return total;
  }
}

/** Splits an export into what one request takes. Lines are sent as they are: parsing could change their numbers. */
function* portions(lines: string): Generator<string[], void, undefined> {
  let entries: string[] = [];
  let bytes = 0;
  for (const line of lines.split("\n")) {
    if (line.trim() === "") continue;
    JSON.parse(line);
    const size = new TextEncoder().encode(line).length;
    if (entries.length > 0 && (entries.length === IMPORT_ENTRIES || bytes + size > IMPORT_BYTES)) {
      yield entries;
      entries = [];
      bytes = 0;
    }
    entries.push(line);
    bytes += size;
  }
  if (entries.length > 0) yield entries;
}
