import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { collection, date, number, oneOf, text } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";

/** An agent's identity on a network, as the registry said when it was linked. */
const linkFields = {
  /** `<agent id>:<network>`: an agent has one identity on a network. */
  _id: text,
  agentId: text,
  network: oneOf(NETWORKS),
  /** The registry as ERC-8004 writes it: `eip155:84532:0x…`. */
  agentRegistry: text,
  /** The identity's id in the registry. */
  identityId: number,
  /** `<registry>:<id>`: an identity is one agent's. */
  identity: text,
  linkedAt: date,
};
export type IdentityLink = RecordOf<typeof linkFields>;
export type IdentityLinkModel = Model<IdentityLink>;

/** The index that lists the newest links. */
export const NEWEST_LINKS = "newest";

/** `<agent id>:<network>`. */
export function linkIdOf(agentId: string, network: Network): string {
  return `${agentId}:${network}`;
}

/** The collection of links. */
export function identityLinkModel(connection: Connection): IdentityLinkModel {
  return collection(connection, "IdentityLink", "identity_links", linkFields, [
    [{ identity: 1 }, { unique: true }],
    [{ linkedAt: -1, _id: -1 }, { name: NEWEST_LINKS }],
  ]);
}
