import { requireApiKey, requireHttpUrl, requireMs, requireObject, requireRequest } from "./arguments.ts";
import { ApiError, ArgumentError, NetworkError, TimeoutError } from "./errors.ts";
import { jsonText } from "./json.ts";
import { Payment, Payments } from "./payments.ts";
import { RetryPolicy, parseRetryAfter } from "./retry.ts";
import type { RetryOptions } from "./retry.ts";
import { pause } from "./waiting.ts";

/** Settings of the connection to one marketplace. */
export interface HttpOptions {
  /** Address of the API, for example `https://market.example`. */
  url: string;
  /** Timeout of one attempt in milliseconds, including the body; 30,000 by default. */
  timeoutMs?: number | undefined;
  retry?: RetryOptions | undefined;
  /** Replaces the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
}

/** Options of every call. */
export interface CallOptions {
  /** Aborting rejects the call with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Options of a call that creates something. */
export interface CreateOptions extends CallOptions {
  /**
   * 1 to 255 printable ASCII characters; a random one by default. With the same key and content, even a new process gets
   * the first answer for 24 hours instead of a second record.
   */
  idempotencyKey?: string | undefined;
}

/** One request. */
export interface ApiRequest extends CreateOptions {
  method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  path: string;
  query?: object | undefined;
  /** Sent as JSON, a `bigint` as text. */
  body?: object | undefined;
  /** JSON text that is sent as it is, instead of `body`. */
  bodyText?: string | undefined;
  /** Sent besides the headers of every request, such as `if-match`. */
  headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Whether sending the request twice has the same effect as sending it once; by default only for GET and with an
   * idempotency key. Other requests are repeated only after an answer that says that nothing was done.
   */
  isIdempotent?: boolean;
  /** Replaces the connection's retry settings. */
  retry?: RetryOptions | undefined;
  /** A shorter timeout for one attempt, in milliseconds. A longer one has no effect. */
  timeoutMs?: number | undefined;
}

/** An answer with a 2xx status. */
export interface ApiResponse<Body> {
  status: number;
  headers: Headers;
  body: Body;
}

const DEFAULT_TIMEOUT_MS = 30_000;

/** JSON requests to the API, with or without a key. */
export class Http {
  readonly #options: HttpOptions;
  readonly #apiKey: string | undefined;
  readonly #retry: RetryPolicy;
  readonly #payments: Payments | undefined;

  /** @throws ArgumentError */
  constructor(options: HttpOptions, apiKey?: string, payments?: Payments) {
    requireObject("options", options);
    requireHttpUrl("url", options.url);
    if (options.timeoutMs !== undefined) requireMs("timeoutMs", options.timeoutMs, 1);
    if (options.fetch !== undefined && typeof options.fetch !== "function") {
      throw new ArgumentError("fetch", "a function", options.fetch);
    }
    this.#options = options;
    this.#apiKey = apiKey;
    this.#payments = payments;
    this.#retry = new RetryPolicy(options.retry);
  }

  /** The same connection with an API key, whose calls are paid for if need be. @throws ArgumentError */
  withKey(apiKey: string, payments?: Payments): Http {
    requireApiKey(apiKey);
    return new Http(this.#options, apiKey, payments);
  }

  /**
   * Sends a request, and retries it where that is safe and can help. A 402 is paid once, if this connection pays.
   * @param payment what has been signed for this request, for a caller that sends the same one again
   * @throws ApiError for every answer that isn't 2xx
   * @throws NetworkError if no answer arrived
   * @throws TimeoutError if an attempt took too long
   * @throws ArgumentError, before anything is sent, for a request that HTTP doesn't allow
   * @throws RefusedError for a payment beyond its bounds, before it is signed, and, before anything is sent, for a number that JSON would change, such as an integer beyond ±(2^53 - 1)
   */
  async send<Body>(request: ApiRequest, payment = new Payment()): Promise<ApiResponse<Body>> {
    requireRequest(request);
    const policy = request.retry === undefined ? this.#retry : new RetryPolicy(request.retry);
    const { method, idempotencyKey, isIdempotent = method === "GET" || idempotencyKey !== undefined } = request;
    const text = request.bodyText ?? (request.body === undefined ? undefined : jsonText(request.body));
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#attempt<Body>(request, text, payment);
      } catch (error) {
        // The service answers the same call with the same payment once, however often it comes.
        const delayMs = policy.delayMs(error, attempt, isIdempotent || payment.headers !== undefined);
        if (delayMs === undefined) throw error;
        await pause(delayMs, request.signal);
      }
    }
  }

  /** The body of a GET. */
  async get<Body>(path: string, options: Omit<ApiRequest, "method" | "path" | "body"> = {}): Promise<Body> {
    return (await this.send<Body>({ method: "GET", path, ...options })).body;
  }

  /** The body of the answer to a POST. */
  async post<Body>(path: string, body: object, options: Omit<ApiRequest, "method" | "path"> = {}): Promise<Body> {
    return (await this.send<Body>({ method: "POST", path, body, ...options })).body;
  }

  /**
   * Opens an answer that is read as it arrives. Only its head has to arrive within the timeout.
   * @throws ApiError for an answer that isn't 2xx
   * @throws NetworkError if no answer arrived
   * @throws TimeoutError if its head took too long
   */
  async open(
    path: string,
    { query, headers, signal }: { query: object; headers: Record<string, string>; signal: AbortSignal },
  ): Promise<{ headers: Headers; body: ReadableStream<Uint8Array> }> {
    const { url, fetch = globalThis.fetch, timeoutMs = DEFAULT_TIMEOUT_MS } = this.#options;
    const late = new AbortController();
    requireRequest({ method: "GET", path, query, headers, signal });
    const address = buildAddress(url, path, query);
    const timer = setTimeout(() => {
      late.abort();
    }, timeoutMs);
    try {
      const response = await fetch(address, {
        headers: { ...this.#headers({ method: "GET", path }, false), ...headers },
        signal: AbortSignal.any([signal, late.signal]),
        redirect: "error",
      });
      if (response.ok && response.body !== null) return { headers: response.headers, body: response.body };
      throw failure("GET", path, response, parsed(await response.text(), response.headers));
    } catch (error) {
      if (error instanceof ApiError) throw error;
      signal.throwIfAborted();
      if (late.signal.aborted) throw new TimeoutError(`GET ${path}`, timeoutMs, { cause: error });
      throw new NetworkError(`GET ${path} got no answer: ${reasonOf(error)}`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  async #attempt<Body>(request: ApiRequest, text: string | undefined, payment: Payment): Promise<ApiResponse<Body>> {
    const { method, path, signal } = request;
    const { url, fetch = globalThis.fetch } = this.#options;
    const timeoutMs = Math.min(this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS, request.timeoutMs ?? Infinity);
    const timeout = AbortSignal.timeout(timeoutMs);
    const address = buildAddress(url, path, request.query);
    let response: Response;
    let answer: string;
    try {
      response = await fetch(address, {
        method,
        headers: { ...this.#headers(request, text !== undefined), ...payment.headers },
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
        redirect: "error",
        ...(text === undefined ? {} : { body: text }),
      });
      answer = await response.text();
    } catch (cause) {
      signal?.throwIfAborted();
      if (timeout.aborted) throw new TimeoutError(`${method} ${path}`, timeoutMs, { cause });
      throw new NetworkError(`${method} ${path} got no answer: ${reasonOf(cause)}`, { cause });
    }
    const { status, headers } = response;
    const body = parsed(answer, headers);
    if (response.ok) return { status, headers, body: body as Body };
    const refusal = failure(method, path, response, body);
    const payments = payment.headers === undefined ? this.#payments : undefined;
    if (payments === undefined || !Payments.isDemand(refusal, headers)) throw refusal;
    payment.headers = await payments.sign(refusal, headers);
    return this.#attempt(request, text, payment);
  }

  #headers({ path, headers, idempotencyKey }: ApiRequest, hasBody: boolean): Record<string, string> {
    return {
      ...headers,
      accept: "application/json",
      ...(!hasBody ? {} : { "content-type": "application/json" }),
      ...(this.#apiKey === undefined ? {} : keyHeader(path, this.#apiKey)),
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    };
  }
}

/** Ucp messages take the key only as a bearer token. */
function keyHeader(path: string, apiKey: string): Record<string, string> {
  return /^(\/api)?\/v1\/ucp\//.test(path) ? { authorization: `Bearer ${apiKey}` } : { "x-api-key": apiKey };
}

function failure(method: string, path: string, { status, headers }: Response, body: unknown): ApiError {
  return new ApiError({
    method,
    path,
    status,
    body,
    retryAfterSeconds: parseRetryAfter(headers.get("retry-after")),
  });
}

function buildAddress(base: string, path: string, query: object = {}): URL {
  const url = new URL(base.replace(/\/+$/, "") + path);
  for (const [name, value] of Object.entries(query) as [string, string | number | bigint | boolean | undefined][]) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

/** The body as JSON, or its text if a proxy answered with something else. */
function parsed(text: string, headers: Headers): unknown {
  if (headers.get("content-type")?.includes("application/json") !== true) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** The innermost message: `fetch` itself only says "fetch failed". */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message;
}
