import { segment } from "./arguments.ts";
import type * as wire from "./generated/api-types.ts";
import type { CallOptions, Http } from "./http.ts";

/** An API key as the list has it, without the key itself. */
export type Key = wire.Key;

const PATH = "/api/v1/auth/keys";

/** The agent's API keys. A key with a mandate can't use them. */
export class Keys {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** The agent's keys, without the keys themselves, and what their mandates have left. */
  async list(options: CallOptions = {}): Promise<Key[]> {
    return (await this.#http.get<wire.KeysListResponse>(PATH, options)).data;
  }

  /** Revokes a key, and with it its mandate. Errors: `not_found`. */
  async revoke(keyId: string, options: CallOptions = {}): Promise<wire.RevokedKey> {
    const path = `${PATH}/${segment("keyId", keyId)}`;
    const request = { method: "DELETE", path, ...options } as const;
    return (await this.#http.send<wire.KeysRevokeByIdResponse>(request)).body.data;
  }

  /** Revokes every key but the one that asks, and every mandate. */
  async freeze(options: CallOptions = {}): Promise<wire.RevokedKey> {
    return (await this.#http.post<wire.KeysFreezeResponse>(`${PATH}/freeze`, {}, options)).data;
  }
}
