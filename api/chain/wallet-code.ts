import { CallExecutionError, concat, encodeFunctionData, parseAbi, slice, zeroHash } from "viem";
import type { Address, Hex } from "viem";

import type { RpcCall } from "./rpc.ts";

const erc1271Abi = parseAbi(["function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)"]);

/** Signatures of no wallet: an empty one, and one with the length of a plain wallet's. */
const SIGNATURES: readonly Hex[] = ["0x", `0x${"00".repeat(65)}`];
/** No function has this selector. */
const UNKNOWN_SELECTOR: Hex = "0x0badc0de";

/**
 * Whether tokens accept what a wallet signs: it has no code, or it has ERC-1271, which they ask then. A plain wallet has code
 * once it has delegated to a contract (EIP-7702); tokens no longer look at its key's signature.
 * @throws ChainUnavailableError
 */
export async function signsForTokens(rpc: RpcCall, wallet: Address): Promise<boolean> {
  const code = await rpc((client) => client.getCode({ address: wallet }));
  if (code === undefined || code === "0x") return true;
  return hasErc1271(rpc, wallet);
}

/** A wallet with the function answers it in another way than a function that it can't have, whatever it makes of both. */
async function hasErc1271(rpc: RpcCall, wallet: Address): Promise<boolean> {
  const asked = SIGNATURES.map((signature) =>
    encodeFunctionData({ abi: erc1271Abi, functionName: "isValidSignature", args: [zeroHash, signature] }),
  );
  const outcomes = await Promise.all(
    asked.flatMap((data) => [
      outcomeOf(rpc, wallet, data),
      outcomeOf(rpc, wallet, concat([UNKNOWN_SELECTOR, slice(data, 4)])),
    ]),
  );
  return SIGNATURES.some((_, index) => outcomes[2 * index] !== outcomes[2 * index + 1]);
}

/** The data that a call returns or reverts with. */
async function outcomeOf(rpc: RpcCall, to: Address, data: Hex): Promise<string> {
  try {
    const { data: returned = "0x" } = await rpc((client) => client.call({ to, data }));
    return `returned ${returned}`;
  } catch (error) {
    if (!(error instanceof CallExecutionError)) throw error;
    const { data: thrown } = error.walk() as { data?: unknown };
    return `reverted ${typeof thrown === "string" ? thrown : "0x"}`;
  }
}
