import {
  BaseError,
  createPublicClient,
  createWalletClient,
  defineChain,
  encodeFunctionData,
  erc20Abi,
  ExecutionRevertedError,
  http,
  numberToHex,
  parseAbi,
  parseEther,
  WaitForTransactionReceiptTimeoutError,
} from "viem";
import type { Address, Hash, Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

import type { Network } from "../config/constants.ts";
import type { DeployedToken, Deployment } from "./deployment.ts";
import { ChainUnavailableError } from "./errors.ts";
import { fetchWithin, isUnreachable } from "./rpc.ts";

/** What a wallet is given of one asset. */
export interface Gift {
  symbol: string;
  /** Null for ether. */
  token: Address | null;
  /** In the asset's smallest units. */
  amount: bigint;
  transactionHash: Hash;
}

/** A local chain that gives money to any wallet. */
export interface FaucetChain {
  /**
   * Gives 1 ether, 1,000 USDC and, where it is listed, 1 WETH, and returns once all of it is in blocks.
   * @throws RecipientRefusesError, before anything is sent; ChainUnavailableError, after which a part may have arrived
   */
  give(recipient: Address): Promise<Gift[]>;
}

/** The recipient is a contract that takes no ether. */
export class RecipientRefusesError extends Error {
  override readonly name = "RecipientRefusesError";
}

const ETHER = parseEther("1");
const WETH = parseEther("1");
const USDC = 1_000_000_000n;
/** More than the gas of all transactions. */
const GAS = parseEther("1");
const TIMEOUT_MS = 5_000;
const RECEIPT_TIMEOUT_MS = 10_000;
const POLLING_MS = 50;

const usdcAbi = parseAbi(["function masterMinter() view returns (address)"]);
const minterAbi = parseAbi(["function mint(address recipient, uint256 amount)"]);
const wethAbi = parseAbi(["function deposit() payable"]);

/** A transaction of a gift; the last one of an asset names it. */
interface Step {
  to: Address;
  value?: bigint;
  data?: Hex;
  gift?: Omit<Gift, "transactionHash">;
}

/** Creates the faucet of a local chain. It has no key of value: each gift comes from a wallet made for it alone. */
export function createFaucetChain({ network, rpcUrl, deployment }: FaucetOptions): FaucetChain {
  const chain = defineChain({
    id: deployment.chainId,
    name: network,
    nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
  });
  const transport = http(rpcUrl, { timeout: TIMEOUT_MS, fetchFn: fetchWithin(TIMEOUT_MS), retryCount: 0 });
  const reader = createPublicClient({ chain, transport, pollingInterval: POLLING_MS });
  const listed = (symbol: string) => deployment.tokens.find((token) => token.symbol === symbol);

  return {
    async give(recipient) {
      try {
        const account = privateKeyToAccount(generatePrivateKey());
        // Only anvil has this method. A wallet of its own needs to share no nonce with another call or process.
        const endowment = numberToHex(ETHER + WETH + GAS);
        await reader.request({ method: "anvil_setBalance" as never, params: [account.address, endowment] as never });
        await assertTakesEther(recipient, account.address);
        const wallet = createWalletClient({ account, chain, transport });
        const steps: Step[] = [
          { to: recipient, value: ETHER, gift: { symbol: "ETH", token: null, amount: ETHER } },
          ...(await usdcSteps(listed("USDC"), recipient)),
          ...wethSteps(listed("WETH"), recipient),
        ];
        const gifts: Gift[] = [];
        for (const { gift, ...call } of steps) {
          const hash = await wallet.sendTransaction(call);
          const { status } = await reader.waitForTransactionReceipt({ hash, timeout: RECEIPT_TIMEOUT_MS });
          if (status !== "success") throw new Error(`The faucet's transaction ${hash} failed on ${network}`);
          if (gift !== undefined) gifts.push({ ...gift, transactionHash: hash });
        }
        return gifts;
      } catch (error) {
        const isLate = error instanceof WaitForTransactionReceiptTimeoutError;
        if (isLate || isUnreachable(error)) throw new ChainUnavailableError(network, error);
        throw error;
      }
    },
  };

  async function assertTakesEther(to: Address, account: Address): Promise<void> {
    try {
      await reader.estimateGas({ account, to, value: ETHER });
    } catch (error) {
      const isRefused =
        error instanceof BaseError && error.walk((cause) => cause instanceof ExecutionRevertedError) !== null;
      if (isRefused) throw new RecipientRefusesError(`${to} takes no ether on ${network}`, { cause: error });
      throw error;
    }
  }

  /** The master minter of a local chain's USDC is a contract that mints for everyone. */
  async function usdcSteps(token: DeployedToken | undefined, recipient: Address): Promise<Step[]> {
    if (token === undefined) return [];
    const minter = await reader.readContract({ address: token.address, abi: usdcAbi, functionName: "masterMinter" });
    const data = encodeFunctionData({ abi: minterAbi, functionName: "mint", args: [recipient, USDC] });
    return [{ to: minter, data, gift: { symbol: "USDC", token: token.address, amount: USDC } }];
  }
}

function wethSteps(token: DeployedToken | undefined, recipient: Address): Step[] {
  if (token === undefined) return [];
  const transfer = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [recipient, WETH] });
  return [
    { to: token.address, value: WETH, data: encodeFunctionData({ abi: wethAbi, functionName: "deposit" }) },
    { to: token.address, data: transfer, gift: { symbol: "WETH", token: token.address, amount: WETH } },
  ];
}

/** Settings of a faucet. */
export interface FaucetOptions {
  network: Network;
  rpcUrl: string;
  deployment: Pick<Deployment, "chainId" | "tokens">;
}
