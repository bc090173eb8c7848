import type { Address } from "viem";

import type * as wire from "./generated/api-types.ts";
import type { CallOptions, Http } from "./http.ts";
import { parseRecord } from "./records.ts";
import type { Parsed } from "./records.ts";

/** A settlement network with its contracts and its subgraph's progress. */
export type NetworkStatus = Omit<wire.NetworksListResponse["data"][number], "contracts" | "tokens" | "payments"> & {
  contracts: Parsed<wire.NetworksListResponse["data"][number]["contracts"]>;
  tokens: Parsed<wire.NetworksListResponse["data"][number]["tokens"][number]>[];
  /** Who is paid for calls by x402, and in which token; null where no call is paid for. */
  payments: { payTo: Address; token: Address } | null;
};

/** The settlement networks as the API describes them. */
export async function readNetworks(http: Http, options: CallOptions = {}): Promise<NetworkStatus[]> {
  const { data } = await http.get<wire.NetworksListResponse>("/api/v1/networks", options);
  return data.map((network) => ({
    ...network,
    contracts: parseRecord(network.contracts),
    tokens: network.tokens.map(parseRecord),
    payments: network.payments as NetworkStatus["payments"],
  }));
}
