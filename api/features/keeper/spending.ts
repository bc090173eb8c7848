import { Types } from "mongoose";
import type { ClientSession, Model } from "mongoose";
import { encodeFunctionData, hexToBigInt, parseAbi } from "viem";
import type { Address, Hex, TransactionReceipt } from "viem";

import type { SendingChain } from "../../chain/sending-chain.ts";
import type { Budget } from "../../chain/sending/work.ts";
import { BudgetSpentError } from "../../chain/sending/work.ts";
import type { Network } from "../../config/constants.ts";
import { isDuplicateKey } from "../../db/connection.ts";
import type { KeeperOrderRecord, KeeperSpendingRecord } from "./model.ts";

/** Predeployed on every chain of the OP stack. It gives a transaction's fee for its data on Ethereum, besides its gas. */
const GAS_PRICE_ORACLE: Address = "0x420000000000000000000000000000000000000F";
const ORACLE_ABI = parseAbi(["function getL1Fee(bytes data) view returns (uint256)"]);
/** A signature doesn't bound that fee, so twice the current one is reserved. */
const L1_FEE_ROOM = 2n;

const utcDay = (unixSeconds: number): string =>
  new Date(unixSeconds * 1_000).toISOString().slice(0, "2026-11-23".length);
const decimal = (wei: bigint): Types.Decimal128 => Types.Decimal128.fromString(String(wei));

/** A transaction's L1 data fee, in wei; 0 on a local chain. */
async function l1Fee(chain: SendingChain, raw: Hex): Promise<bigint> {
  const data = encodeFunctionData({ abi: ORACLE_ABI, functionName: "getL1Fee", args: [raw] });
  const { data: answer } = await chain.read((client) => client.call({ to: GAS_PRICE_ORACLE, data }));
  return answer === undefined || answer === "0x" ? 0n : hexToBigInt(answer);
}

/** The cost of a mined transaction, in wei. */
function costOf(receipt: TransactionReceipt): bigint {
  const { l1Fee: fee = 0n } = receipt as { l1Fee?: bigint | null };
  return receipt.gasUsed * receipt.effectiveGasPrice + (fee ?? 0n);
}

/** The spending of one network. */
export interface Spending extends Budget<KeeperOrderRecord> {
  /** The cost of the transactions of the day of this time, including reservations for those in flight, in wei. */
  committedOn(unixSeconds: number): Promise<bigint>;
}

/**
 * Keeps a network's transactions within a daily cap. A transaction's maximum cost is reserved in the database
 * transaction that stores it, before it is sent, so the cap holds for all workers together. A replacement takes over
 * the reservation, on the day of its own signature; the receipt ends it. A day is a UTC day of the chain's time.
 */
export function createSpending({
  network,
  chain,
  model,
  capWei,
}: {
  network: Network;
  chain: SendingChain;
  model: Model<KeeperSpendingRecord>;
  capWei: bigint;
}): Spending {
  const idOf = (day: string) => `${network}:${day}`;

  async function openDay(day: string): Promise<void> {
    try {
      await model.updateOne({ _id: idOf(day) }, { $setOnInsert: { committedWei: decimal(0n) } }, { upsert: true });
    } catch (error) {
      // Another worker has opened it.
      if (!isDuplicateKey(error)) throw error;
    }
  }

  async function change(day: string, wei: bigint, session: ClientSession): Promise<void> {
    await model.updateOne({ _id: idOf(day) }, { $inc: { committedWei: decimal(wei) } }, { session });
  }

  return {
    async reserve({ charge }, { wei: gasWei, raw, head }) {
      const day = utcDay(head.timestamp);
      const wei = gasWei + L1_FEE_ROOM * (await l1Fee(chain, raw));
      await openDay(day);
      return {
        fields: { charge: { day, wei: String(wei) } },
        async also(session) {
          if (charge !== undefined) await change(charge.day, -BigInt(charge.wei), session);
          const { matchedCount } = await model.updateOne(
            { _id: idOf(day), committedWei: { $lte: decimal(capWei - wei) } },
            { $inc: { committedWei: decimal(wei) } },
            { session },
          );
          if (matchedCount === 1) return;
          throw new BudgetSpentError("spending_cap", `up to ${wei} wei more would exceed ${capWei} wei on ${day}`);
        },
      };
    },

    settle({ charge, spentWei = "0" }, receipt) {
      const spent = receipt === undefined ? 0n : costOf(receipt);
      return {
        fields: { charge: undefined, spentWei: String(BigInt(spentWei) + spent) },
        async also(session) {
          if (charge !== undefined) await change(charge.day, spent - BigInt(charge.wei), session);
        },
      };
    },

    async committedOn(unixSeconds) {
      const found = await model.findById(idOf(utcDay(unixSeconds))).lean();
      return found === null ? 0n : BigInt(found.committedWei.toString());
    },
  };
}
