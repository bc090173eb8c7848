import { formatUnits, parseUnits } from "viem";
import type { Hex } from "viem";

import { approvalData } from "./approval-data.ts";
import { requireObject, requireUnits, requireWallet, segment } from "./arguments.ts";
import { deliveryProofOf } from "./canonical-json.ts";
import { ArgumentError, RefusedError } from "./errors.ts";
import type * as wire from "./generated/api-types.ts";
import type { CallOptions, Http } from "./http.ts";
import { paginate } from "./pagination.ts";
import type { Wallet } from "./wallet.ts";

/** A checkout above a key's mandate that waits, or waited, for the wallet. `request` is what the key's holder wrote. */
export type Approval = wire.Approval;

const PATH = "/api/v1/approvals";
const USD_DECIMALS = 6;
const MS = 1_000;

/** What of this agent's keys with a mandate waits for the wallet. A key with a mandate can only list its own. */
export class Approvals {
  readonly #http: Http;
  readonly #wallet: Wallet | undefined;
  readonly #host: string;

  constructor(http: Http, wallet: Wallet | undefined, host: string) {
    this.#http = http;
    this.#wallet = wallet;
    this.#host = host;
  }

  /** All approvals, newest first. */
  list(options: CallOptions = {}): AsyncGenerator<Approval, void, undefined> {
    return paginate((cursor) => this.#http.get<wire.ApprovalsListResponse>(PATH, { query: { cursor }, ...options }));
  }

  /**
   * Signs an approval with the agent's wallet (EIP-712): the key may make this one checkout, whatever the amounts of its mandate.
   * @param maxUsd the most that the deposit may be worth, in millionths of a US dollar; by default what was asked
   * @param until when the grant ends; by default with the approval, 24 hours after it was asked for
   * @throws RefusedError if the approval's hash isn't the one of the request that it shows
   * Errors: `not_found`, `approval_not_open`.
   */
  async grant(
    approval: Approval,
    { maxUsd, until, ...options }: CallOptions & { maxUsd?: bigint; until?: Date } = {},
  ): Promise<Approval> {
    requireObject("approval", approval);
    if (maxUsd !== undefined) requireUnits("maxUsd", maxUsd);
    if (until !== undefined && Number.isNaN(until.getTime())) throw new ArgumentError("until", "a valid Date", until);
    const wallet = this.#wallet;
    requireWallet("wallet", wallet);
    const { id, keyId, network, request, askedUsd, expiresAt } = approval;
    const requestHash = approval.requestHash as Hex;
    if (deliveryProofOf(request) !== requestHash) throw new RefusedError("requestHash isn't the hash of request");
    const { account } = wallet;
    const units = maxUsd ?? parseUnits(askedUsd, USD_DECIMALS);
    const end = Math.floor((until?.getTime() ?? Date.parse(expiresAt)) / MS);
    const fields = { host: this.#host, keyId, network, requestHash };
    const signature = await wallet.signTypedData({
      account,
      ...approvalData({ id, ...fields, maxUsd: units, expiresAt: BigInt(end) }),
    });
    const body: wire.ApprovalsGrantData["body"] = {
      ...fields,
      maxUsd: formatUnits(units, USD_DECIMALS),
      expiresAt: end,
      signature,
    };
    const once = { idempotencyKey: crypto.randomUUID(), ...options };
    return (await this.#http.post<wire.ApprovalsGrantResponse>(`${PATH}/${segment("id", id)}`, body, once)).data;
  }

  /** Declines an approval, or takes it back before it is used. Errors: `not_found`, `approval_not_open`. */
  async decline(id: string, options: CallOptions = {}): Promise<Approval> {
    const request = { method: "DELETE", path: `${PATH}/${segment("id", id)}`, isIdempotent: true, ...options } as const;
    return (await this.#http.send<wire.ApprovalsDeclineResponse>(request)).body.data;
  }
}
