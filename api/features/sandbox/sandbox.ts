import { setTimeout as sleep } from "node:timers/promises";

import { CHAIN_TIME_MAX_AGE_MS } from "../../chain/chain-time.ts";
import { areAnvil } from "../../chain/local-node.ts";
import type { LocalNode } from "../../chain/local-node.ts";
import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { validationError } from "../../http/errors.ts";
import { clientOf } from "../../lib/client-address.ts";
import { toUnixSeconds } from "../../lib/clock.ts";
import type { CountCall } from "../limits/client-windows.ts";
import { countInHour } from "../limits/hour-window.ts";

/** The longest move, in seconds: 30 days. */
export const MAX_ADVANCE_SECONDS = 2_592_000;
/** How far a chain's clock may get ahead of the service's, in seconds: a year. */
const MAX_LEAD_SECONDS = 31_536_000;
/** Moves in an hour, by client address. */
const CLIENT_CALLS = 60;

/** Who asks for a move. */
export interface AdvanceCall {
  /** From 1 to {@link MAX_ADVANCE_SECONDS}. */
  seconds: number;
  /** Address of the client. */
  ip: string;
}

/** A chain after a move. */
export interface AdvancedChain {
  network: Network;
  blockNumber: number;
  /** Of that block. */
  time: Date;
}

/** Dependencies of the sandbox. */
export interface SandboxDeps {
  nodes: Readonly<Record<Network, LocalNode>>;
  countCall: CountCall;
  now: () => Date;
}

/** Moves the clocks of the local chains. */
export class Sandbox {
  readonly #deps: SandboxDeps;

  constructor(deps: SandboxDeps) {
    this.#deps = deps;
  }

  /** Whether every node is anvil. */
  isOpen(): Promise<boolean> {
    return areAnvil(this.#deps.nodes);
  }

  /**
   * Moves every chain's clock by the same time, and returns once no process counts with the time before. Moves at the same
   * time add up, so each chain is then ahead by at least this one.
   * @throws ApiError `rate_limit_exceeded`, `validation_error` if a clock would get too far ahead
   * @throws ChainUnavailableError, after which other chains may have moved
   */
  async advance({ seconds, ip }: AdvanceCall): Promise<AdvancedChain[]> {
    const { countCall, nodes } = this.#deps;
    const id = `sandbox:client:${clientOf(ip)}`;
    await countInHour(countCall, { window: "sandbox", countedBy: "address", id, limit: CLIENT_CALLS });
    await this.#requireRoom(seconds);
    const chains = await Promise.all(
      NETWORKS.map(async (network) => {
        const { number, timestamp } = await nodes[network].advance(seconds);
        return { network, blockNumber: number, time: new Date(timestamp * 1_000) };
      }),
    );
    // Until then a 402 may ask for a payment that ends by the time before.
    await sleep(CHAIN_TIME_MAX_AGE_MS);
    return chains;
  }

  /** Every chain is asked before any is moved. */
  async #requireRoom(seconds: number): Promise<void> {
    const times = await Promise.all(NETWORKS.map((network) => this.#deps.nodes[network].time()));
    const room = toUnixSeconds(this.#deps.now()) + MAX_LEAD_SECONDS - Math.max(...times);
    if (seconds <= room) return;
    const message =
      `A chain's clock may be ${MAX_LEAD_SECONDS} seconds ahead of the real one, which leaves ` +
      `${Math.max(0, room)}. \`npm start -- --fresh\` begins with the real time`;
    throw validationError([{ path: "body.seconds", message }]);
  }
}
