import type { FacilitatorEvmSigner } from "@x402/evm";
import { ExactEvmScheme } from "@x402/evm/exact/facilitator";
import { ExactEvmSchemeV1 } from "@x402/evm/exact/v1/facilitator";
import {
  BaseError,
  createWalletClient,
  defineChain,
  encodeFunctionData,
  http,
  publicActions,
  TransactionNotFoundError,
} from "viem";
import type { Abi, Address, Hash, Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";

import { ChainUnavailableError } from "../../../chain/errors.ts";
import { fetchWithin, isUnreachable } from "../../../chain/rpc.ts";
import { reasonOf } from "../../../chain/sending-chain.ts";
import { gasLimit } from "../../../chain/sending/fees.ts";
import { meaningOf } from "../../../chain/sending/problems.ts";
import { createTransactionSigner } from "../../../chain/signer.ts";
import type { SignedTransaction, TransactionSigner } from "../../../chain/signer.ts";
import { CHAIN_IDS } from "../../../config/constants.ts";
import type { Network } from "../../../config/constants.ts";
import { Lease } from "../../../jobs/lease.ts";
import type { LeaseModel } from "../../../jobs/lease.ts";
import { untilAborted } from "../../../lib/stopping.ts";
import { toAttempt, officialPayment, refusalOf } from "./facilitator.ts";
import type { Facilitator, SettleAttempt } from "./facilitator.ts";
import type { LastTransactionModel } from "../model.ts";
import type { Refusal, SignedProof } from "../offer/proof.ts";
import type { Terms } from "../offer/terms.ts";
import { SENDING_LEASE_MS, SendingQueue, TurnOverError } from "./sending-queue.ts";
import type { SendingNode } from "./sending-queue.ts";

/** Settings of the facilitator with the service's own key. */
export interface OwnFacilitatorOptions {
  network: Network;
  rpcUrl: string;
  key: Hex;
  /** Longest wait for a receipt, in milliseconds. */
  timeoutMs: number;
  /** Last signed transaction of the key, shared by all its processes. */
  lastTransactions: LastTransactionModel;
  leases: LeaseModel;
  processId: string;
}

const RPC_TIMEOUT_MS = 5_000;
const POLLING_MS = 250;

/** State of one call of the official packages. */
interface CallNotes {
  /** Set if the chain was unreachable: the packages' result then says nothing about the payment. */
  outage?: unknown;
  txHash?: Hash;
  beforeSending: (txHash: Hash) => Promise<void>;
  /** Aborts when the call's time is over, and ends every wait. */
  signal: AbortSignal;
}

function createClient({ network, rpcUrl, key }: OwnFacilitatorOptions) {
  const chain = defineChain({
    id: CHAIN_IDS[network],
    name: network,
    nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
  });
  return createWalletClient({
    account: privateKeyToAccount(key),
    chain,
    transport: http(rpcUrl, { timeout: RPC_TIMEOUT_MS, fetchFn: fetchWithin(RPC_TIMEOUT_MS), retryCount: 1 }),
    pollingInterval: POLLING_MS,
  }).extend(publicActions);
}

type Client = ReturnType<typeof createClient>;

/** Verifies and settles with the official packages in this process. The key only pays gas; it holds no agents' tokens. */
export class OwnFacilitator implements Facilitator {
  readonly #network: Network;
  readonly #timeoutMs: number;
  readonly #client: Client;
  readonly #transactions: TransactionSigner;
  readonly #queue: SendingQueue;

  constructor(options: OwnFacilitatorOptions) {
    const { network, key, timeoutMs, lastTransactions, leases, processId } = options;
    this.#network = network;
    this.#timeoutMs = timeoutMs;
    this.#client = createClient(options);
    this.#transactions = createTransactionSigner(network, key);
    const id = `${network}:${this.#client.account.address.toLowerCase()}`;
    this.#queue = new SendingQueue({
      id,
      model: lastTransactions,
      lease: new Lease({ leases, name: `x402.settle:${id}`, owner: processId, ttlMs: SENDING_LEASE_MS }),
      node: createNode(this.#client),
    });
  }

  async verify(proof: SignedProof, terms: Terms, signal: AbortSignal): Promise<Refusal | undefined> {
    const notes: CallNotes = { signal, beforeSending: () => Promise.resolve() };
    const { payload, requirements } = officialPayment(proof, terms);
    try {
      const { isValid, invalidReason } = await this.#scheme(proof, notes).verify(payload, requirements);
      if (notes.outage !== undefined) throw new ChainUnavailableError(this.#network, notes.outage);
      return isValid ? undefined : refusalOf(invalidReason);
    } catch (error) {
      if (notes.outage !== undefined) throw new ChainUnavailableError(this.#network, notes.outage);
      throw error;
    }
  }

  async settle(
    proof: SignedProof,
    terms: Terms,
    signal: AbortSignal,
    beforeSending: CallNotes["beforeSending"],
  ): Promise<SettleAttempt> {
    const notes: CallNotes = { signal, beforeSending };
    const known = () => (notes.txHash === undefined ? {} : { txHash: notes.txHash });
    const { payload, requirements } = officialPayment(proof, terms);
    try {
      const attempt = toAttempt(await this.#scheme(proof, notes).settle(payload, requirements));
      if (attempt.kind === "sent") return attempt;
      if (notes.outage !== undefined || notes.txHash !== undefined) {
        return { kind: "unknown", ...known(), cause: notes.outage ?? attempt };
      }
      return attempt;
    } catch (error) {
      return { kind: "unknown", ...known(), cause: error };
    }
  }

  #scheme({ version }: SignedProof, notes: CallNotes) {
    return version === 2 ? new ExactEvmScheme(this.#signer(notes)) : new ExactEvmSchemeV1(this.#signer(notes));
  }

  /**
   * The client as a signer of the official packages. They mistake a failed read for a bad signature or a failed simulation.
   * Version 2 leaves a rejected `getCode` unhandled, which would end the process. So this signer records outages, and
   * `getCode` never rejects.
   */
  #signer(notes: CallNotes): FacilitatorEvmSigner {
    const client = this.#client;
    const timeout = this.#timeoutMs;
    const noting = async <T>(call: Promise<T>): Promise<T> => {
      try {
        return await untilAborted(call, notes.signal);
      } catch (error) {
        if (isUnreachable(error) || notes.signal.aborted) notes.outage = error;
        throw error;
      }
    };
    return {
      getAddresses: () => [client.account.address],
      readContract: (call) => noting(client.readContract(call as never)),
      verifyTypedData: (call) => noting(client.verifyTypedData(call as never)),
      writeContract: ({ address, abi, functionName, args }) => {
        const data = encodeFunctionData({ abi: abi as Abi, functionName, args: [...args] });
        return noting(this.#send(address, data, notes));
      },
      sendTransaction: () => Promise.reject(new Error("Smart wallets aren't deployed for payers")),
      waitForTransactionReceipt: ({ hash }) =>
        noting(client.waitForTransactionReceipt({ hash, timeout, pollingInterval: POLLING_MS })),
      getCode: async (call) => {
        try {
          return await noting(client.getCode(call));
        } catch (error) {
          // Any failed read counts as an outage, because the packages don't see it.
          notes.outage = error;
          return undefined;
        }
      },
    };
  }

  async #send(to: Address, data: Hex, notes: CallNotes): Promise<Hash> {
    const { signal } = notes;
    const client = this.#client;
    const [estimate, { maxFeePerGas, maxPriorityFeePerGas }] = await Promise.all([
      client.estimateGas({ account: client.account, to, data }),
      client.estimateFeesPerGas(),
    ]);
    const sign = async (nonce: number): Promise<SignedTransaction> => {
      const transaction = { to, data, nonce, gas: gasLimit(estimate), maxFeePerGas, maxPriorityFeePerGas };
      const signed = await this.#transactions.sign(transaction);
      // Recorded before sending: after a crash or a lost answer, the hash identifies the transaction.
      await notes.beforeSending(signed.hash);
      notes.txHash = signed.hash;
      return signed;
    };
    try {
      return await this.#queue.send(sign, signal);
    } catch (error) {
      // The node may have it without having confirmed so. A block will show it.
      if (error instanceof TurnOverError && notes.txHash !== undefined) return notes.txHash;
      throw error;
    }
  }
}

/** The node's operations for the queue of a key. */
function createNode(client: Client): SendingNode {
  const { address } = client.account;
  return {
    transactionCount: () => client.getTransactionCount({ address, blockTag: "pending" }),
    broadcast: (raw) => client.request({ method: "eth_sendRawTransaction", params: [raw] }, { retryCount: 0 }),
    meaningOf: (error) => (error instanceof BaseError ? meaningOf(reasonOf(error)) : "other"),
    async knows(hash) {
      try {
        await client.getTransaction({ hash });
        return true;
      } catch (error) {
        if (error instanceof TransactionNotFoundError) return false;
        throw error;
      }
    },
  };
}
