import type { Hex } from "viem";

import { escrowAbi } from "../../../chain/abis.ts";
import type { Deployment } from "../../../chain/deployment.ts";
import type { Work } from "../../../chain/sending/work.ts";
import type { SendingChain } from "../../../chain/sending-chain.ts";
import type { TransactionSigner } from "../../../chain/signer.ts";
import type { ResolvedBy } from "../../../indexer/schemas.ts";
import { findResolution, rulingCall } from "./calls.ts";
import type { RulingTransactionRecord } from "./model.ts";
import { toObstacle, stateObstacle } from "./problems.ts";

/** Dependencies of the rulings' transactions. */
export interface RulingWorkDeps {
  chain: SendingChain;
  deployment: Pick<Deployment, "escrow" | "resolver">;
  /** The wallets of the roles; undefined where this service has no key. */
  signers: Readonly<Record<ResolvedBy, TransactionSigner | undefined>>;
}

/** Rulings as calls of the resolver contract. */
export function createRulingWork({ chain, deployment, signers }: RulingWorkDeps): Work<RulingTransactionRecord> {
  async function escrowState(escrowId: Hex, blockNumber?: number): Promise<number> {
    const { state } = await chain.read((client) =>
      client.readContract({
        address: deployment.escrow,
        abi: escrowAbi,
        functionName: "getEscrow",
        args: [escrowId],
        ...(blockNumber === undefined ? {} : { blockNumber: BigInt(blockNumber) }),
      }),
    );
    return state;
  }

  return {
    noun: "ruling",
    factsOf: ({ _id: disputeId }) => ({ disputeId }),
    signerOf: ({ role }) => signers[role],
    buildCall: (record) => rulingCall(deployment.resolver, record),

    async obstacle(record, { from, blockNumber }) {
      const obstacle = stateObstacle(await escrowState(record.escrowId, blockNumber));
      if (obstacle !== undefined || from === undefined) return obstacle;
      const revert = await chain.simulate({ from, ...rulingCall(deployment.resolver, record) }, blockNumber);
      return revert === undefined ? undefined : toObstacle(revert);
    },

    toObstacle: (_, revert) => toObstacle(revert),

    async findConclusion({ escrowId, rationaleHash }, head) {
      const found = await findResolution(chain, deployment, escrowId, head);
      if (found === undefined) return undefined;
      const { txHash, blockNumber } = found;
      return { txHash, blockNumber, isOurs: found.rationaleHash === rationaleHash };
    },
  };
}
