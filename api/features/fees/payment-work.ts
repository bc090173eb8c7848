import { encodeFunctionData, erc20Abi } from "viem";
import type { TransactionReceipt } from "viem";

import type { Obstacle } from "../../chain/sending/problems.ts";
import type { Work } from "../../chain/sending/work.ts";
import type { Revert, SendingChain } from "../../chain/sending-chain.ts";
import type { TransactionSigner } from "../../chain/signer.ts";
import { TRANSFER_REFUSED } from "./payment-model.ts";
import type { PaymentRecord } from "./payment-model.ts";

/** The receipt of the transfer that paid; undefined if none has. @throws ChainUnavailableError */
export async function findTransfer(
  chain: Pick<SendingChain, "lookupReceipt">,
  { attempts }: PaymentRecord,
): Promise<TransactionReceipt | undefined> {
  const lookups = await Promise.all(attempts.map(({ hash }) => chain.lookupReceipt(hash)));
  return lookups
    .flatMap((lookup) => (lookup.status === "mined" ? [lookup.receipt] : []))
    .find(({ status }) => status === "success");
}

/**
 * Payments as calls of their token. Unlike a ruling, a second transfer would succeed, so before anything is signed every
 * earlier attempt is looked up again, whatever its nonce.
 */
export function createPaymentWork(chain: SendingChain, signer: TransactionSigner): Work<PaymentRecord> {
  const buildCall = ({ token, to, amount }: PaymentRecord) => ({
    to: token,
    data: encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [to, BigInt(amount)] }),
  });
  const refused = ({ name, args }: Revert): Obstacle => ({
    kind: "problem",
    problem: TRANSFER_REFUSED,
    detail: [name, ...args].map(String).join(" "),
  });

  return {
    noun: "rebate",
    factsOf: ({ _id: statementId }) => ({ statementId }),
    signerOf: () => signer,
    buildCall,

    async obstacle(record, { from, blockNumber }) {
      const paid = await findTransfer(chain, record);
      if (paid !== undefined && Number(paid.blockNumber) <= (blockNumber ?? Infinity)) return { kind: "done" };
      if (from === undefined) return undefined;
      const revert = await chain.simulate({ from, ...buildCall(record) }, blockNumber);
      return revert === undefined ? undefined : refused(revert);
    },

    toObstacle: (_, revert) => refused(revert),

    async findConclusion(record) {
      const paid = await findTransfer(chain, record);
      if (paid === undefined) return undefined;
      return { txHash: paid.transactionHash, blockNumber: Number(paid.blockNumber), isOurs: true };
    },
  };
}
