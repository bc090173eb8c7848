import type { Connection } from "mongoose";
import { isAddressEqual } from "viem";

import type { IdentityRegistry } from "../../chain/identity-registry.ts";
import { caip2Of, NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { withTransaction } from "../../db/connection.ts";
import type { Caller } from "../../http/define-route.ts";
import { ApiError } from "../../http/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { linkIdOf, NEWEST_LINKS } from "./model.ts";
import type { IdentityLink, IdentityLinkModel } from "./model.ts";

/** An identity in a registry. */
export interface IdentityName {
  network: Network;
  id: number;
}

/** Dependencies of the links. */
export interface IdentityLinksDeps {
  connection: Connection;
  links: IdentityLinkModel;
  registries: Readonly<Record<Network, IdentityRegistry>>;
  clock: Clock;
}

/** The identities of agents in the registries of ERC-8004. */
export class IdentityLinks {
  readonly #deps: IdentityLinksDeps;

  constructor(deps: IdentityLinksDeps) {
    this.#deps = deps;
  }

  /**
   * Links an identity whose wallet is the caller's, in place of the caller's earlier one on that network. Repeating it
   * changes nothing.
   * @throws ApiError `not_found`, `identity_wallet_mismatch`; ChainUnavailableError
   */
  async link({ agentId, walletAddress }: Caller, { network, id }: IdentityName): Promise<IdentityLink> {
    const { connection, links, registries, clock } = this.#deps;
    const registry = registries[network];
    const found = await registry.read(id);
    if (found === null) throw new ApiError("not_found", { details: { id: String(id) } });
    const { wallet } = found;
    if (wallet === null || !isAddressEqual(wallet, walletAddress)) {
      throw new ApiError("identity_wallet_mismatch", { details: { network, id, agentWallet: wallet, walletAddress } });
    }
    const _id = linkIdOf(agentId, network);
    const agentRegistry = `${caip2Of(network)}:${registry.address}`;
    const identity = `${agentRegistry}:${id}`;
    const known = await links.findById(_id).lean();
    if (known?.identity === identity) return known;
    const link = { _id, agentId, network, agentRegistry, identityId: id, identity, linkedAt: clock.now() };
    await withTransaction(connection, async (session) => {
      // It was another agent's until its wallet changed.
      await links.deleteMany({ identity }, { session });
      await links.replaceOne({ _id }, link, { session, upsert: true });
    });
    return link;
  }

  /** An agent's identities. */
  async ofAgent(agentId: string): Promise<IdentityLink[]> {
    const ids = NETWORKS.map((network) => linkIdOf(agentId, network));
    return this.#deps.links
      .find({ _id: { $in: ids } })
      .sort({ _id: 1 })
      .hint({ _id: 1 })
      .lean();
  }

  /** The identities of all agents, those linked last first. */
  async newest(limit: number): Promise<IdentityLink[]> {
    return this.#deps.links.find().sort({ linkedAt: -1, _id: -1 }).limit(limit).hint(NEWEST_LINKS).lean();
  }
}
