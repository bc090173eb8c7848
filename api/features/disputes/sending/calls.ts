import { encodeFunctionData } from "viem";
import type { Abi, Address, Hash, Hex } from "viem";

import { escrowAbi, resolverAbi } from "../../../chain/abis.ts";
import type { Deployment } from "../../../chain/deployment.ts";
import type { SendingChain } from "../../../chain/sending-chain.ts";
import { EVENT_SEARCH_BLOCKS } from "../../../config/constants.ts";
import { DISPUTE_OUTCOMES } from "../../../indexer/schemas.ts";
import type { Ruling } from "./model.ts";

const PERCENT = 100;

/** The resolver contract's functions and errors, with the errors of the escrow contract that it calls. */
export const rulingAbi: Abi = [...resolverAbi, ...escrowAbi.filter(({ type }) => type === "error")];

/** The call that puts a ruling on chain. */
export function rulingCall(
  resolver: Address,
  ruling: Omit<Ruling, "disputeId" | "network">,
): { to: Address; data: Hex } {
  const { role, escrowId, outcome, buyerPercent, rationaleHash } = ruling;
  const code = DISPUTE_OUTCOMES.indexOf(outcome);
  const data =
    role === "system"
      ? encodeFunctionData({ abi: resolverAbi, functionName: "resolveBySystem", args: [escrowId, code, rationaleHash] })
      : encodeFunctionData({
          abi: resolverAbi,
          functionName: "resolveByAdmin",
          args: [escrowId, code, BigInt(buyerPercent), BigInt(PERCENT - buyerPercent), rationaleHash],
        });
  return { to: resolver, data };
}

/** The block and transaction that resolved a dispute. */
export interface Resolution {
  txHash: Hash;
  blockNumber: number;
  rationaleHash: Hex;
}

/** The event of a dispute's resolution, if it is among the latest blocks. */
export async function findResolution(
  chain: SendingChain,
  { escrow }: Pick<Deployment, "escrow">,
  escrowId: Hex,
  head: number,
): Promise<Resolution | undefined> {
  const [log] = await chain.read((client) =>
    client.getContractEvents({
      address: escrow,
      abi: escrowAbi,
      eventName: "EscrowResolved",
      args: { escrowId },
      fromBlock: BigInt(Math.max(0, head - EVENT_SEARCH_BLOCKS)),
      toBlock: "latest",
    }),
  );
  const rationaleHash = log?.args.rationaleHash;
  if (log === undefined || rationaleHash === undefined) return undefined;
  return { txHash: log.transactionHash, blockNumber: Number(log.blockNumber), rationaleHash };
}
