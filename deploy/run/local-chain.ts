import type { Provider, Signer } from "ethers";
import { concat, parseEther, parseUnits } from "ethers";

import { MockPriceFeed__factory } from "../../typechain-types/factories/contracts/mocks/MockPriceFeed__factory.ts";
import { MockUsdc__factory } from "../../typechain-types/factories/contracts/mocks/MockUsdc__factory.ts";
import { MockWeth9__factory } from "../../typechain-types/factories/contracts/mocks/MockWeth9__factory.ts";
import type { SettlementNetwork, TokenFacts } from "../networks.ts";
import { NETWORKS } from "../networks.ts";
import { hasCode } from "../system/code.ts";
import type { RpcRequest } from "../system/connection.ts";
import { CREATE2_FACTORY, CREATE2_FACTORY_CODE, ensureCreated } from "../system/create2.ts";

/** The inputs of preparing a local chain. */
export interface LocalChainOptions {
  network: SettlementNetwork;
  deployer: Signer;
  provider: Provider;
  request: RpcRequest;
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
 * Makes a local chain look like the live one: tokens and price feed at the live addresses, and funded test accounts.
 * Leaves what already exists unchanged.
 */
export async function prepareLocalChain(options: LocalChainOptions): Promise<void> {
  const { provider, request } = options;
  if (!(await hasCode(provider, CREATE2_FACTORY))) {
    await request("hardhat_setCode", [CREATE2_FACTORY, CREATE2_FACTORY_CODE]);
  }
  for (const token of NETWORKS[options.network].tokens) {
    if (token.symbol === "USDC") await placeUsdc(options, token);
    else await placeWeth(options, token);
    if (token.feed !== null) await placeFeed(options, token.feed);
  }
}

async function placeUsdc(options: LocalChainOptions, token: TokenFacts): Promise<void> {
  const args = MockUsdc__factory.createInterface().encodeDeploy([USDC_NAME[options.network]]);
  await place(options, "USDC", token.address, concat([MockUsdc__factory.bytecode, args]));

  const usdc = MockUsdc__factory.connect(token.address, options.deployer);
  const sent = [];
  for (const account of options.accounts.slice(0, FUNDED_ACCOUNTS)) {
    if ((await usdc.balanceOf(account)) === 0n) sent.push(await usdc.mint(account, USDC_EACH));
  }
  await Promise.all(sent.map((transaction) => transaction.wait()));
  if (sent.length > 0) options.log(`minted USDC for ${sent.length} accounts`);
}

async function placeWeth(options: LocalChainOptions, token: TokenFacts): Promise<void> {
  await place(options, "WETH", token.address, MockWeth9__factory.bytecode);

  const weth = MockWeth9__factory.connect(token.address, options.deployer);
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

async function placeFeed(options: LocalChainOptions, address: string): Promise<void> {
  const args = MockPriceFeed__factory.createInterface().encodeDeploy([8, LOCAL_ETH_USD]);
  await place(options, "ETH/USD feed", address, concat([MockPriceFeed__factory.bytecode, args]));
}

/** Puts a mock's code at the live contract's address. The mocks keep their configuration in their code. */
async function place(options: LocalChainOptions, name: string, address: string, initCode: string): Promise<void> {
  const { deployer, provider, request, log } = options;
  const original = await ensureCreated(deployer, provider, initCode);
  const code = await provider.getCode(original.address);
  if ((await provider.getCode(address)) === code) return;
  await request("hardhat_setCode", [address, code]);
  log(`placed ${name} at ${address}`);
}
