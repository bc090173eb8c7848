import { createRequire } from "node:module";

import { encodeFunctionData, parseAbi } from "viem";
import type { Address, Hex } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";

import type { PreparedCall, TestChain } from "../../fixtures/stack.ts";

/** solc publishes no types. */
const solc = createRequire(import.meta.url)("solc") as { compile: (input: string) => string };

/** A wallet that makes many calls in one transaction: one transaction for each call would measure anvil's pool. */
const SOURCE = `pragma solidity ^0.8.0;
contract BatchWallet {
  function run(address[] calldata targets, bytes[] calldata calls) external {
    for (uint256 i = 0; i < targets.length; i++) {
      (bool ok, bytes memory reason) = targets[i].call(calls[i]);
      if (!ok) assembly { revert(add(reason, 32), mload(reason)) }
    }
  }
}`;
const walletAbi = parseAbi(["function run(address[] targets, bytes[] calls)"]);
/** Calls of one transaction, and gas for each: the escrow contract holds gas back for payouts and scores. */
const CALLS_PER_TRANSACTION = 25;
const GAS_PER_CALL = 600_000n;
const GAS_PRICE = 10n ** 10n;

function compile(): Hex {
  const input = {
    language: "Solidity",
    sources: { "BatchWallet.sol": { content: SOURCE } },
    settings: { optimizer: { enabled: true }, outputSelection: { "*": { "*": ["evm.bytecode.object"] } } },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as {
    contracts: Record<string, Record<string, { evm: { bytecode: { object: string } } }>>;
  };
  return `0x${output.contracts["BatchWallet.sol"]?.["BatchWallet"]?.evm.bytecode.object ?? ""}`;
}

/** A batch wallet on a chain, and the account that sends its transactions. */
export interface BatchWallet {
  address: Address;
  /** The transactions of many calls, ready to sign. */
  prepare(calls: readonly PreparedCall[]): Hex[];
  /** Puts transactions into the chain's pool in one request, in their order. */
  submit(transactions: readonly Hex[]): Promise<void>;
}

/** Deploys a batch wallet. The chain has to mine by itself. */
export async function deployBatchWallet(chain: TestChain, account: PrivateKeyAccount): Promise<BatchWallet> {
  const { client } = chain;
  // Any account sends on a local chain; a signature for each transaction would cost the bench's own core.
  await client.impersonateAccount({ address: account.address });
  const deployed = await client.request({
    method: "eth_sendTransaction",
    params: [{ from: account.address, data: compile() }],
  } as never);
  const { contractAddress } = await client.waitForTransactionReceipt({ hash: deployed });
  if (contractAddress === null || contractAddress === undefined) throw new Error("the batch wallet was not deployed");
  const address = contractAddress;
  return {
    address,
    prepare(calls) {
      const transactions: Hex[] = [];
      for (let start = 0; start < calls.length; start += CALLS_PER_TRANSACTION) {
        const batch = calls.slice(start, start + CALLS_PER_TRANSACTION);
        const args = [batch.map(({ to }) => to as Address), batch.map(({ data }) => data as Hex)] as const;
        transactions.push(encodeFunctionData({ abi: walletAbi, functionName: "run", args }));
      }
      return transactions;
    },
    async submit(transactions) {
      if (transactions.length === 0) return;
      const requests = transactions.map((data, id) => ({
        jsonrpc: "2.0",
        id,
        method: "eth_sendTransaction",
        params: [
          {
            from: account.address,
            to: address,
            data,
            gas: `0x${(GAS_PER_CALL * BigInt(CALLS_PER_TRANSACTION)).toString(16)}`,
            gasPrice: `0x${GAS_PRICE.toString(16)}`,
          },
        ],
      }));
      const response = await fetch(chain.rpcUrl, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(requests),
      });
      const answers = (await response.json()) as { error?: { message: string } }[];
      const refused = answers.find(({ error }) => error !== undefined)?.error;
      if (refused !== undefined) throw new Error(`the chain refused a batch: ${refused.message}`);
    },
  };
}
