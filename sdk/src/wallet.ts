import { BaseError, ContractFunctionRevertedError, WaitForTransactionReceiptTimeoutError } from "viem";
import type { Abi, Account, Address, Chain, Hex, Transport, TransactionReceipt, WalletClient } from "viem";
import { estimateContractGas, estimateGas, getBlockNumber, waitForTransactionReceipt } from "viem/actions";

import { ContractRevertedError, TimeoutError, TransactionRevertedError } from "./errors.ts";

/** A viem wallet client with an account and a chain. Keys never leave it. */
export type Wallet = WalletClient<Transport, Chain, Account>;

/** A call that any wallet can send as is. */
export interface PreparedCall {
  to: Address;
  data: Hex;
  /** Wei. The API sends a decimal string. */
  value?: bigint | string;
}

/** A contract call by name. */
export interface ContractWrite {
  address: Address;
  abi: Abi;
  functionName: string;
  args: readonly unknown[];
}

/** How long to wait for a receipt in milliseconds. */
export interface ReceiptOptions {
  timeoutMs?: number | undefined;
}

const RECEIPT_TIMEOUT_MS = 180_000;

/** A quarter above the estimate: other transactions may change the state before the block and make the call dearer. */
const withRoom = (estimate: bigint): bigint => estimate + estimate / 4n;

/**
 * Sends a contract call and waits until it is in a block.
 * @throws ContractRevertedError if the contract refuses it; nothing is sent then
 * @throws TransactionRevertedError if it reverted in its block
 * @throws TimeoutError if no block included it in time; it may still be mined
 */
export async function write(
  wallet: Wallet,
  call: ContractWrite,
  options: ReceiptOptions = {},
): Promise<TransactionReceipt> {
  try {
    const request = { ...call, account: wallet.account };
    const gas = withRoom(await estimateContractGas(wallet, request));
    const hash = await wallet.writeContract({ ...request, gas, chain: wallet.chain });
    return await waitForReceipt(wallet, call.functionName, hash, options);
  } catch (error) {
    throw explained(call.functionName, error);
  }
}

/** Sends a prepared call and waits until it is in a block. Same errors as {@link write}. */
export async function sendCall(
  wallet: Wallet,
  call: PreparedCall,
  options: ReceiptOptions = {},
): Promise<TransactionReceipt> {
  const request = { account: wallet.account, to: call.to, data: call.data, value: BigInt(call.value ?? 0) };
  const gas = withRoom(await estimateGas(wallet, request));
  const hash = await wallet.sendTransaction({ ...request, gas, chain: wallet.chain });
  return waitForReceipt(wallet, "the call", hash, options);
}

/** The chain's latest block, not a remembered one. */
export function headOf(wallet: Wallet): Promise<bigint> {
  return getBlockNumber(wallet, { cacheTime: 0 });
}

async function waitForReceipt(
  wallet: Wallet,
  functionName: string,
  hash: Hex,
  { timeoutMs = RECEIPT_TIMEOUT_MS }: ReceiptOptions,
): Promise<TransactionReceipt> {
  try {
    const receipt = await waitForTransactionReceipt(wallet, { hash, timeout: timeoutMs });
    if (receipt.status !== "success") throw new TransactionRevertedError(functionName, receipt.transactionHash);
    return receipt;
  } catch (error) {
    if (!(error instanceof WaitForTransactionReceiptTimeoutError)) throw error;
    throw new TimeoutError(`the block of ${functionName} (transaction ${hash})`, timeoutMs, { cause: error });
  }
}

/** The contract's error inside a viem error; any other error unchanged. */
function explained(functionName: string, error: unknown): unknown {
  if (!(error instanceof BaseError)) return error;
  const revert = error.walk((part) => part instanceof ContractFunctionRevertedError);
  if (!(revert instanceof ContractFunctionRevertedError)) return error;
  const { data } = revert;
  return new ContractRevertedError(functionName, data?.errorName, data?.args ?? [], { cause: error });
}
