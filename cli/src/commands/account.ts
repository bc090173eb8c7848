import type { Command } from "commander";
import { Option } from "commander";
import { erc20Abi, formatUnits, getAddress, isAddress } from "viem";
import type { Address } from "viem";

import { escrowAbi } from "../../../sdk/src/index.ts";
import type { NetworkStatus } from "../../../sdk/src/index.ts";
import { NETWORKS, openReader, rpcUrlOf } from "../chains.ts";
import { EXIT } from "../exit-codes.ts";
import { CommandFailure, usageFailure } from "../failure.ts";
import { facts, table, text } from "../output/blocks.ts";
import type { Runtime } from "../runtime.ts";
import type { Session } from "../session.ts";
import { addCommand, does } from "./define.ts";

const ETHER_DECIMALS = 18;

/** Adds `usage`, `balance` and `faucet`. */
export function addAccount(program: Command, runtime: Runtime): void {
  const usage = addCommand(program, "usage", "show today's budgets of calls");
  does(usage, runtime, async (session) => {
    const found = await session.agent().account.usage();
    const { agentId, agentName, tier, onChainScore, budgets, prepaid } = found;
    const rows = Object.entries(budgets).map(([name, { used, limit, remaining, resetsAt }]) => [
      name,
      String(used),
      String(limit),
      String(remaining),
      String(prepaid[name as keyof typeof prepaid]),
      resetsAt,
    ]);
    session.output.result(found, () => [
      facts({ agent: agentId, name: agentName, tier, score: onChainScore }),
      table(["calls", "used", "of", "left", "prepaid", "resets at"], rows),
    ]);
    return undefined;
  });

  const balance = addCommand(program, "balance", "show what a wallet has on each network")
    .option("--address <address>", "another wallet than yours")
    .addOption(new Option("--network <name>", "only on this network").choices(NETWORKS));
  does<{ address?: string; network?: string }>(balance, runtime, async (session, options) => {
    const address = await addressOf(session, options.address);
    const chosen = options.network === undefined ? session.networks : [options.network];
    const networks = (await session.market.networks()).filter(({ network }) => chosen.includes(network));
    const reading = Promise.all(
      networks.map((network) => readingChain(session, network, balancesOf(session, network, address))),
    );
    const balances = (await session.output.progress("Reading the chains", reading)).flat();
    const rows = balances.map(({ network, token, amount, withdrawable }) => [network, token, amount, withdrawable]);
    session.output.result({ address, balances }, () => [
      text(address),
      table(["network", "token", "balance", "to withdraw"], rows),
    ]);
    return undefined;
  });

  const faucet = addCommand(program, "faucet", "get money of the local stack, three times an hour")
    .option("--address <address>", "another wallet than yours")
    .addOption(new Option("--network <name>", "the chain").choices(NETWORKS).default("base-sepolia"));
  does<{ address?: string; network: string }>(faucet, runtime, async (session, { address: given, network }) => {
    const address = await addressOf(session, given);
    const asking = askFaucet(session, { address, network });
    const gifts = await session.output.progress("Waiting for the money", asking);
    const rows = gifts.map(({ symbol, amount, transactionHash }) => [
      symbol,
      formatUnits(BigInt(amount), symbol === "USDC" ? 6 : ETHER_DECIMALS),
      transactionHash,
    ]);
    session.output.result({ address, network, gifts }, () => [
      text(`${address} got on ${network}:`),
      table(["token", "amount", "transaction"], rows),
    ]);
    return undefined;
  });
}

/** A wallet that was named, or the agent's own. */
async function addressOf(session: Session, given: string | undefined): Promise<Address> {
  if (given !== undefined) {
    if (isAddress(given)) return getAddress(given);
    throw usageFailure("--address: must be an address of 0x and 40 hexadecimal digits", "Correct --address.");
  }
  const { agentId } = await session.agent().account.usage();
  const { walletAddress } = await session.agent().registry.get(agentId);
  return getAddress(walletAddress);
}

interface Balance {
  network: string;
  token: string;
  /** In whole tokens. */
  amount: string;
  baseUnits: bigint;
  /** What failed payouts have left in the escrow contract, in whole tokens; `withdraw` takes it. */
  withdrawable: string;
}

async function balancesOf(session: Session, status: NetworkStatus, address: Address): Promise<Balance[]> {
  const { network, tokens, contracts } = status;
  const reader = openReader(network, rpcUrlOf(network, session.url, session.profile));
  const ether = await reader.getBalance({ address });
  const gas = { network, token: "ETH", amount: formatUnits(ether, ETHER_DECIMALS), baseUnits: ether, withdrawable: "" };
  const held = tokens.map(async ({ symbol, address: token, decimals }): Promise<Balance> => {
    const [baseUnits, credit] = await Promise.all([
      reader.readContract({ address: token, abi: erc20Abi, functionName: "balanceOf", args: [address] }),
      reader.readContract({
        address: contracts.escrow,
        abi: escrowAbi,
        functionName: "creditOf",
        args: [address, token],
      }),
    ]);
    const amount = formatUnits(baseUnits, decimals);
    return { network, token: symbol, amount, baseUnits, withdrawable: formatUnits(credit, decimals) };
  });
  return [gas, ...(await Promise.all(held))];
}

/** Names the chain that can't be read. */
async function readingChain<T>(session: Session, { network }: NetworkStatus, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch {
    throw new CommandFailure({
      exitCode: EXIT.failed,
      code: "chain_unreachable",
      message: `${rpcUrlOf(network, session.url, session.profile)} gives no answer for ${network}.`,
      whatToDo: "Run `agent-marketplace doctor`, or leave this network out with --network.",
    });
  }
}

interface Gift {
  symbol: string;
  amount: string;
  transactionHash: string;
}

async function askFaucet(session: Session, body: { address: Address; network: string }): Promise<Gift[]> {
  // The key is sent only because the client has no request without one; the route needs none.
  const request = { method: "POST", path: "/api/v1/faucet", body } as const;
  return (await session.agent().request<{ data: { gifts: Gift[] } }>(request)).body.data.gifts;
}
