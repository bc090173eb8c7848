import type { Network } from "../../config/constants.ts";
import type { Logger } from "../../lib/logger.ts";
import type { SendingChain, SendingHead } from "../sending-chain.ts";
import type { TransactionSigner } from "../signer.ts";
import type { Offer } from "./fees.ts";
import type { Progress } from "./progress.ts";
import type { Flight, SendingRecord, SigningAttempt } from "./record.ts";
import type { SendingStore } from "./store.ts";
import type { SendingTimings } from "./timings.ts";
import { BudgetSpentError } from "./work.ts";
import type { Work } from "./work.ts";

/** Dependencies of the signing. */
interface SigningDeps<R extends SendingRecord> {
  network: Network;
  chain: Pick<SendingChain, "transactionCount">;
  work: Work<R>;
  store: SendingStore<R>;
  progress: Progress<R>;
  log: Logger;
  now: () => Date;
  timings: Pick<SendingTimings, "pollMs">;
}

/** Units of gas and the fees for them. */
type Terms = Offer & { gas: bigint };

/** Times that a nonce is allocated again because another process took it. */
const ALLOCATIONS = 5;

/** Signs transactions within the budget, and stores them before they are sent. Over the budget, the record waits. */
export class Signing<R extends SendingRecord> {
  readonly #deps: SigningDeps<R>;

  constructor(deps: SigningDeps<R>) {
    this.#deps = deps;
  }

  /** Signs with the next nonce, and stores both in one write. @returns undefined if nothing was stored */
  async first(record: R, signer: TransactionSigner, terms: Terms, head: SendingHead): Promise<Flight<R> | undefined> {
    return this.#withinBudget(record, async () => {
      const { network, chain, store } = this.#deps;
      const wallet = { network, from: signer.address };
      for (let allocation = 1; allocation <= ALLOCATIONS; allocation += 1) {
        const highest = await store.highestNonce(wallet);
        const nonce = Math.max(await chain.transactionCount(signer.address), highest === undefined ? 0 : highest + 1);
        const stored = await this.#addAttempt(record, signer, { ...terms, nonce }, head);
        if (stored !== "taken") return stored;
      }
      return undefined;
    });
  }

  /** Signs the same call with the same nonce again. @returns undefined if nothing was stored */
  async replacement(
    record: Flight<R>,
    signer: TransactionSigner,
    terms: Terms,
    head: SendingHead,
  ): Promise<Flight<R> | undefined> {
    return this.#withinBudget(record, async () => {
      const stored = await this.#addAttempt(record, signer, { ...terms, nonce: record.nonce }, head);
      return stored === "taken" ? undefined : stored;
    });
  }

  async #withinBudget<T>(record: R, sign: () => Promise<T>): Promise<T | undefined> {
    try {
      return await sign();
    } catch (error) {
      if (!(error instanceof BudgetSpentError)) throw error;
      await this.#deps.progress.hold(record, error.problem, error.message);
      return undefined;
    }
  }

  async #addAttempt(
    record: R,
    signer: TransactionSigner,
    terms: Terms & { nonce: number },
    head: SendingHead,
  ): Promise<Flight<R> | "taken" | undefined> {
    const { network, work, store, log, now, timings } = this.#deps;
    const { gas, nonce, maxFeePerGas, maxPriorityFeePerGas } = terms;
    const signed = await signer.sign({ ...work.buildCall(record), ...terms });
    const extra = await work.budget?.reserve(record, { wei: gas * maxFeePerGas, raw: signed.raw, head });
    const attempt: SigningAttempt = {
      ...signed,
      from: signer.address,
      nonce,
      gas: String(gas),
      signedAt: now(),
      maxFeePerGas: String(maxFeePerGas),
      maxPriorityFeePerGas: String(maxPriorityFeePerGas),
    };
    const stored = await store.addAttempt(
      record,
      attempt,
      {
        state: "sending",
        problem: null,
        detail: null,
        failures: 0,
        dueAt: new Date(now().getTime() + timings.pollMs),
        ...(record.state === "sending" && record.problem === null ? {} : { since: now() }),
        // A replacement is sent at once.
        ...(record.unseen === undefined ? {} : { unseen: { ...record.unseen, nextAt: now() } }),
      },
      extra,
    );
    if (stored === undefined || stored === "taken") return stored;
    const facts = { ...work.factsOf(record), network, nonce, txHash: attempt.hash };
    log.info(facts, `the ${work.noun}'s transaction is signed`);
    return stored as Flight<R>;
  }
}
