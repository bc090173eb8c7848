import { concat, parseEther, parseUnits } from "ethers";

import { MockPriceFeed__factory } from "../../typechain-types/factories/contracts/mocks/MockPriceFeed__factory.ts";
import type { SettlementNetwork } from "../networks.ts";
import { NETWORKS } from "../networks.ts";
import { ensureCreated } from "../system/create2.ts";
import { placeRegistries } from "./local-registries.ts";
import {
  type LocalChain,
  mintUsdc,
  placeCopy,
  placeFactory,
  placeMulticall3,
  placeUsdc,
  placeWeth9,
} from "./local-tokens.ts";

/** The inputs of preparing a local chain. */
export interface LocalChainOptions extends LocalChain {
  network: SettlementNetwork;
  accounts: readonly string[];
  log: (line: string) => void;
}

/** EIP-712 domain names of the live tokens. */
const USDC_NAME: Record<SettlementNetwork, string> = { "base-sepolia": "USDC", base: "USD Coin" };
/** ETH price on a local chain, with the live feed's 8 decimals. */
const LOCAL_ETH_USD = parseUnits("2500", 8);
const FUNDED_ACCOUNTS = 10;
const USDC_EACH = parseUnits("1000000", 6);
const WETH_EACH = parseEther("100");

/**
 * Makes a local chain look like the live one: tokens, price feed, Multicall3 and the registries of ERC-8004 at the live
 * addresses, and funded test accounts.
 * Leaves what already exists unchanged.
 */
export async function prepareLocalChain(options: LocalChainOptions): Promise<void> {
  await placeFactory(options);
  await placeMulticall3(options);
  await placeRegistries(options, NETWORKS[options.network].erc8004);
  for (const token of NETWORKS[options.network].tokens) {
    if (token.symbol === "USDC") await fundInUsdc(options, token.address);
    else await fundInWeth(options, token.address);
    if (token.feed !== null) await placeFeed(options, token.feed);
  }
}

async function fundInUsdc(options: LocalChainOptions, address: string): Promise<void> {
  const usdc = await placeUsdc(options, address, USDC_NAME[options.network]);
  const sent = [];
  for (const account of options.accounts.slice(0, FUNDED_ACCOUNTS)) {
    if ((await usdc.balanceOf(account)) === 0n) sent.push(await mintUsdc(usdc, options.deployer, account, USDC_EACH));
  }
  await Promise.all(sent.map((transaction) => transaction.wait()));
  if (sent.length > 0) options.log(`minted USDC for ${sent.length} accounts`);
}

async function fundInWeth(options: LocalChainOptions, address: string): Promise<void> {
  const weth = await placeWeth9(options, address);
  const empty: string[] = [];
  for (const account of options.accounts.slice(0, FUNDED_ACCOUNTS)) {
    if ((await weth.balanceOf(account)) === 0n) empty.push(account);
  }
  if (empty.length === 0) return;
  const sent = [await weth.deposit({ value: WETH_EACH * BigInt(empty.length) })];
  for (const account of empty) sent.push(await weth.transfer(account, WETH_EACH));
  await Promise.all(sent.map((transaction) => transaction.wait()));
  options.log(`wrapped ether for ${empty.length} accounts`);
}

/** Puts a feed at the live one's address. It keeps its configuration in its code. */
async function placeFeed(options: LocalChainOptions, address: string): Promise<void> {
  const args = MockPriceFeed__factory.createInterface().encodeDeploy([8, LOCAL_ETH_USD]);
  const initCode = concat([MockPriceFeed__factory.bytecode, args]);
  const original = await ensureCreated(options.deployer, options.provider, initCode);
  await placeCopy(options, original.address, address);
}
