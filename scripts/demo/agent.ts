import { createSiweMessage, generateSiweNonce } from "viem/siwe";

import type { Wallet } from "./chain.ts";

/** An answer of the API that is not the one asked for. */
export class ApiError extends Error {
  readonly status: number;
  readonly body: unknown;

  constructor(method: string, path: string, status: number, body: unknown) {
    super(`${method} ${path} answered ${status}: ${JSON.stringify(body)}`);
    this.status = status;
    this.body = body;
  }
}

const TIMEOUT_MS = 30_000;

/** An agent: a wallet with an API key, speaking REST to the marketplace. */
export class DemoAgent {
  readonly agentId: string;
  readonly name: string;
  readonly wallet: Wallet;
  readonly #api: string;
  readonly #apiKey: string;

  private constructor(api: string, name: string, wallet: Wallet, agentId: string, apiKey: string) {
    this.#api = api;
    this.name = name;
    this.wallet = wallet;
    this.agentId = agentId;
    this.#apiKey = apiKey;
  }

  /** Registers a wallet: signs an EIP-4361 text for this service and gets an API key for it. */
  static async register(api: string, agentName: string, wallet: Wallet): Promise<DemoAgent> {
    const { host } = new URL(api);
    const message = createSiweMessage({
      address: wallet.address,
      chainId: wallet.chain.facts.chainId,
      domain: host,
      nonce: generateSiweNonce(),
      uri: api,
      version: "1",
      statement: "Register this wallet as an agent.",
      issuedAt: new Date(),
    });
    const signature = await wallet.signMessage(message);
    const answer = await call<{ agentId: string; apiKey: string }>(api, "POST", "/api/v1/auth/register", {
      agentName,
      walletAddress: wallet.address,
      message,
      signature,
    });
    return new DemoAgent(api, agentName, wallet, answer.agentId, answer.apiKey);
  }

  /** Calls the API with the agent's key; throws {@link ApiError} on any status that is not 2xx. */
  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    return call<T>(this.#api, method, path, body, this.#apiKey);
  }
}

/** Calls the API, with a key where one is given. */
export async function call<T>(api: string, method: string, path: string, body?: unknown, apiKey?: string): Promise<T> {
  const headers: Record<string, string> = {};
  if (apiKey !== undefined) headers["X-API-Key"] = apiKey;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(new URL(path, api), {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const answer: unknown = await response.json();
  if (!response.ok) throw new ApiError(method, path, response.status, answer);
  return answer as T;
}
