import { setTimeout as sleep } from "node:timers/promises";

import type { Connection } from "mongoose";
import { erc20Abi } from "viem";
import type { Address } from "viem";

import { firstOffer } from "../../chain/sending/fees.ts";
import { NetworkSender } from "../../chain/sending/network-sender.ts";
import { queuedFields } from "../../chain/sending/record.ts";
import { SendingStore } from "../../chain/sending/store.ts";
import { SENDING_TIMINGS } from "../../chain/sending/timings.ts";
import { createSendingChain } from "../../chain/sending-chain.ts";
import type { SendingChain } from "../../chain/sending-chain.ts";
import { createTransactionSigner } from "../../chain/signer.ts";
import { MAINNET } from "../../config/constants.ts";
import { writePlain } from "../../db/plain-writes.ts";
import { Lease, leaseModel } from "../../jobs/lease.ts";
import type { Logger } from "../../lib/logger.ts";
import { statementModels } from "./model.ts";
import type { StatementRecord } from "./model.ts";
import { paymentModel } from "./payment-model.ts";
import type { PaymentRecord } from "./payment-model.ts";
import { createPaymentWork, findTransfer } from "./payment-work.ts";

/** Dependencies of the payments of rebates. */
export interface RebatePaymentsDeps {
  connection: Connection;
  /** JSON-RPC server of the mainnet. */
  rpcUrl: string;
  log: Logger;
  now: () => Date;
  /** Names this process in the lease. */
  processId: string;
  /** Blocks that must follow a transfer before its statement is paid; at least 1. */
  confirmations: number;
}

/** A statement in the list of a month. Amounts are in token units. */
export interface ListedRebate {
  statementId: string;
  wallet: Address;
  tier: string;
  token: TokenOf;
  rebate: bigint;
  /** `due`: no transfer can be mined; `sending`: one may be, or isn't final. */
  state: "due" | "sending" | "paid";
  txHash: string | undefined;
  /** The problem that holds the payment; undefined without one. */
  problem: string | undefined;
}

/** A token as statements name it. */
interface TokenOf {
  address: Address;
  symbol: string;
  decimals: number;
}

/** The required and the actual balance of a wallet, in a token (token units) or in ether (wei). */
export interface Need {
  name: string;
  decimals: number;
  required: bigint;
  balance: bigint;
}

/** A run stopped before everything was paid. A later run continues. */
export class PayingStoppedError extends Error {
  override readonly name = "PayingStoppedError";
}

/** How long a killed run keeps others from paying, in milliseconds. */
const LEASE_MS = 6_000;
const POLL_MS = 500;
/** How long a run waits without any progress before it gives up, in milliseconds. */
const PATIENCE_MS = 600_000;
const PAGE = 100;
const IN_FLIGHT = { network: MAINNET, inFlight: true } as const;
const QUEUED = { network: MAINNET, state: "queued" } as const;
/** Gas that a transfer never exceeds. */
const TRANSFER_GAS = 100_000n;
const ETHER_DECIMALS = 18;

/**
 * Pays rebates on the mainnet, each once, for the operator's command. A transfer is signed and stored before it is sent
 * (api/chain/sending), so a run may be killed after any instruction and the next one continues.
 */
export class RebatePayments {
  readonly #deps: RebatePaymentsDeps;
  readonly #statements: ReturnType<typeof statementModels>["statements"];
  readonly #months: ReturnType<typeof statementModels>["months"];
  readonly #payments: ReturnType<typeof paymentModel>;
  readonly #chain: SendingChain;
  readonly #lease: Lease;

  constructor(deps: RebatePaymentsDeps) {
    const { connection, rpcUrl, processId } = deps;
    this.#deps = deps;
    const { statements, months } = statementModels(connection);
    this.#statements = statements;
    this.#months = months;
    this.#payments = paymentModel(connection);
    this.#chain = createSendingChain({ network: MAINNET, rpcUrl, abi: erc20Abi });
    this.#lease = new Lease({
      leases: leaseModel(connection),
      name: "fees.pay-rebates",
      owner: processId,
      ttlMs: LEASE_MS,
    });
  }

  /** Whether all statements of a month are written, so that it can be paid. */
  async isWritten(month: string): Promise<boolean> {
    return (await this.#months.exists({ _id: `${MAINNET}|${month}` })) !== null;
  }

  /** The month's statements with something to pay, and how far each is. */
  async list(month: string): Promise<ListedRebate[]> {
    const rebates: ListedRebate[] = [];
    for await (const page of this.#readPages(month))
      rebates.push(...page.map((one) => presentRebate(one.statement, one.payment)));
    return rebates;
  }

  /** The balances needed to pay a month and the payments that earlier runs have begun. @throws ChainUnavailableError */
  async needs(month: string, payerKey: `0x${string}`): Promise<{ payer: Address; needs: Need[] }> {
    const payer = createTransactionSigner(MAINNET, payerKey).address;
    const due = new Map<Address, bigint>();
    let transfers = 0;
    const add = (token: Address, amount: string): void => {
      due.set(token, (due.get(token) ?? 0n) + BigInt(amount));
      transfers += 1;
    };
    for await (const page of this.#readPages(month)) {
      for (const { statement, payment } of page) if (payment === undefined) add(statement.token, statement.rebate);
    }
    for await (const { token, amount } of this.#begun()) add(token, amount);
    if (transfers === 0) return { payer, needs: [] };
    const tokens = await Promise.all([...due].map(([address, required]) => this.#readNeed(address, required, payer)));
    const { fees } = await this.#chain.head();
    const required = BigInt(transfers) * TRANSFER_GAS * firstOffer(fees).maxFeePerGas;
    const balance = await this.#chain.balanceOf(payer);
    return { payer, needs: [...tokens, { name: "ETH for gas", decimals: ETHER_DECIMALS, required, balance }] };
  }

  /** Waits for the lease of a run that was killed. @throws PayingStoppedError while another run pays */
  async takeTurn(): Promise<void> {
    const giveUpAt = performance.now() + 2 * LEASE_MS;
    while (!(await this.#lease.acquire())) {
      if (performance.now() > giveUpAt) throw new PayingStoppedError("Another run pays rebates now.");
      await sleep(POLL_MS);
    }
  }

  /**
   * Pays the month, and what earlier runs have begun. Statements that can't be paid stay due, with their problem.
   * @throws PayingStoppedError without progress for too long, or if another run has taken over
   * @throws ChainUnavailableError
   */
  async pay(month: string, payerKey: `0x${string}`): Promise<void> {
    await this.#enqueue(month);
    await this.#work(payerKey);
  }

  /** Lets the next run begin at once. */
  release(): Promise<void> {
    return this.#lease.release();
  }

  /** The month's statements with something to pay, and their payments once begun, by id. */
  async *#readPages(month: string) {
    for (let afterId = ""; ;) {
      const page = await this.#statements
        .find({ network: MAINNET, month, isPayable: true, _id: { $gt: afterId } })
        .sort({ _id: 1 })
        .limit(PAGE)
        .lean();
      const known = await this.#payments.find({ _id: { $in: page.map(({ _id }) => _id) } }).lean();
      const byId = new Map(known.map((payment) => [payment._id, payment]));
      yield page.map((statement) => ({ statement, payment: byId.get(statement._id) }));
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return;
      afterId = last._id;
    }
  }

  /** Payments that an earlier run has begun and the chain hasn't, of any month. */
  async *#begun(): AsyncGenerator<PaymentRecord> {
    const isOpen = { network: MAINNET, state: { $in: ["queued", "held", "sending", "mined"] as const } };
    for await (const payment of this.#payments.find(isOpen).lean().cursor()) {
      if ((await findTransfer(this.#chain, payment)) === undefined) yield payment;
    }
  }

  /** Puts the month's statements into the queue, and makes held ones due again. */
  async #enqueue(month: string): Promise<void> {
    const { now } = this.#deps;
    for await (const page of this.#readPages(month)) {
      await writePlain(
        this.#payments,
        page
          .filter(({ payment }) => payment === undefined)
          .map(({ statement: { _id, token, wallet: to, rebate: amount } }) => ({
            updateOne: {
              filter: { _id },
              update: { $setOnInsert: { network: MAINNET, month, token, to, amount, ...queuedFields(now()) } },
              upsert: true,
            },
          })),
      );
    }
    await this.#payments.updateMany(
      { network: MAINNET, state: "held", inFlight: false },
      { $set: { state: "queued", dueAt: now() }, $inc: { version: 1 } },
    );
  }

  /** Looks at what is due until nothing can move without an operator. */
  async #work(payerKey: `0x${string}`): Promise<void> {
    const { connection, log, now, confirmations } = this.#deps;
    const [payments, chain, lease] = [this.#payments, this.#chain, this.#lease];
    const signer = createTransactionSigner(MAINNET, payerKey);
    const sender = new NetworkSender({
      name: "fees.pay-rebates",
      network: MAINNET,
      chain,
      lease,
      log,
      now,
      timings: { ...SENDING_TIMINGS, confirmations, leaseMs: LEASE_MS, pollMs: POLL_MS },
      store: new SendingStore({ connection, model: payments, now }),
      work: createPaymentWork(chain, signer),
      lanes: [{ filter: {}, from: signer.address }],
    });
    let left = Infinity;
    let progressAt = performance.now();
    for (;;) {
      if (!(await lease.acquire())) throw new PayingStoppedError("another run pays rebates now");
      await sender.step();
      const counts = await Promise.all([payments.countDocuments(IN_FLIGHT), payments.countDocuments(QUEUED)]);
      const open = counts.reduce((sum, count) => sum + count, 0);
      if (open === 0) return;
      if (open < left) progressAt = performance.now();
      left = open;
      if (performance.now() - progressAt > PATIENCE_MS) {
        throw new PayingStoppedError(`no transfer became final within ${PATIENCE_MS / 1_000} s; run again later`);
      }
      await sleep(POLL_MS);
    }
  }

  async #readNeed(address: Address, required: bigint, payer: Address): Promise<Need> {
    const token = await this.#statements.findOne({ token: address }).lean();
    const call = { address, abi: erc20Abi, functionName: "balanceOf", args: [payer] } as const;
    const balance = await this.#chain.read((client) => client.readContract(call));
    return { name: token?.tokenSymbol ?? address, decimals: token?.tokenDecimals ?? 0, required, balance };
  }
}

function presentRebate(statement: StatementRecord, payment: PaymentRecord | undefined): ListedRebate {
  const { _id, wallet, tier, token: address, tokenSymbol: symbol, tokenDecimals: decimals, rebate } = statement;
  return {
    statementId: _id,
    wallet,
    tier,
    token: { address, symbol, decimals },
    rebate: BigInt(rebate),
    state: paymentStateOf(payment),
    txHash: payment?.txHash,
    problem: payment?.detail ?? payment?.problem ?? undefined,
  };
}

/** How far a payment is, as operators and sellers see it. */
export function paymentStateOf(payment: PaymentRecord | undefined): ListedRebate["state"] {
  if (payment === undefined) return "due";
  if (payment.state === "final") return "paid";
  return payment.inFlight ? "sending" : "due";
}
