import { segment } from "./arguments.ts";
import { ApiError, isTransient } from "./errors.ts";
import type * as wire from "./generated/api-types.ts";
import type { CallOptions, Http } from "./http.ts";
import { paginate } from "./pagination.ts";
import type { Page } from "./pagination.ts";
import { Payment } from "./payments.ts";
import { parseRecord, parseTransaction } from "./records.ts";
import type { Transaction, TransactionWithActions } from "./records.ts";
import { parseRetryAfter } from "./retry.ts";
import { poll } from "./waiting.ts";
import type { Attempt, Patience } from "./waiting.ts";

type GetOptions = Parameters<Http["get"]>[1];
type PostOptions = Parameters<Http["post"]>[2];

/** Limits of a request within a wait. It isn't retried, because the poll repeats it, and it doesn't outlast the wait. */
export function limitsOf({ signal, remainingMs }: Patience) {
  return { signal, timeoutMs: remainingMs, retry: { maxAttempts: 1 } };
}

/** The requests about one transaction. Paths are relative to it. */
export class DealRequests {
  readonly #http: Http;
  readonly #transactionPath: string;

  constructor(http: Http, transactionId: string) {
    this.#http = http;
    this.#transactionPath = `/api/v1/transactions/${segment("transactionId", transactionId)}`;
  }

  async read(options: GetOptions): Promise<TransactionWithActions> {
    return parseTransaction(await this.get<wire.TransactionsReadResponse>("", options));
  }

  /** The transaction as of a block, once the API has reached it. @throws TimeoutError */
  readAsOf(minBlock: bigint, patience: Patience): Promise<TransactionWithActions> {
    const query = { minBlock };
    return poll(patience, async () => ({ result: await this.read({ query, ...limitsOf(patience) }) }));
  }

  async get<Answer extends { data: unknown }>(path: string, options: GetOptions): Promise<Answer["data"]> {
    return (await this.#http.get<Answer>(this.#transactionPath + path, options)).data;
  }

  list<Item>(path: string, filter: object, options: CallOptions): AsyncGenerator<Item, void, undefined> {
    return paginate((cursor) =>
      this.#http.get<Page<Item>>(this.#transactionPath + path, { query: { ...filter, cursor }, ...options }),
    );
  }

  async post<Answer extends { data: unknown }>(
    path: string,
    body: object,
    options: PostOptions,
  ): Promise<Answer["data"]> {
    return (await this.#http.post<Answer>(this.#transactionPath + path, body, options)).data;
  }

  /**
   * Repeats a POST until the API has caught up with the chain: it answers 200, not 202 or a code that means "not yet".
   * @param lagCodes the codes that mean "not yet"
   */
  postUntilCurrent(path: string, body: object, patience: Patience, lagCodes: readonly string[]): Promise<Transaction> {
    // All of them are one request, which is paid for once.
    const payment = new Payment();
    const attempt = async (): Promise<Attempt<Transaction>> => {
      const request = { method: "POST", path: this.#transactionPath + path, body, ...limitsOf(patience) } as const;
      const answer = await this.#http.send<{ data: wire.Transaction }>(request, payment);
      if (answer.status === 200) return { result: parseRecord(answer.body.data) };
      return { retryAfterSeconds: parseRetryAfter(answer.headers.get("retry-after")) };
    };
    const isLag = (error: unknown) =>
      isTransient(error) || (error instanceof ApiError && error.code !== undefined && lagCodes.includes(error.code));
    return poll(patience, attempt, isLag);
  }
}
