import { homedir } from "node:os";
import { join } from "node:path";

import { createWalletClient, defineChain, http } from "viem";
import type { Address, Hex } from "viem";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";

import { Marketplace, RefusedError } from "../../../sdk/src/index.ts";
import type { Network, NetworkStatus, Wallet } from "../../../sdk/src/index.ts";
import type { Signer } from "../../../tools/src/index.ts";
import { ChainCheck, readNode, requireRightWallet } from "./chain-check.ts";
import { GuardedAccount } from "./guarded-account.ts";
import { limitedSigner } from "./guarded-signer.ts";
import { addressIn, decryptKey, encryptKey, parsePrivateKey, readKeystore, writeKeystore } from "./keystore.ts";
import { Ledger } from "./ledger.ts";
import type { LedgerStep } from "./ledger.ts";
import { dayOf } from "./ledger-entries.ts";
import type { Asked } from "./ledger-entries.ts";
import { DEFAULT_LIMITS, hashOf, parseLimits, readLimits, writeLimits } from "./limits.ts";
import type { Limits } from "./limits.ts";
import { pinNetworks, readPins, writePins } from "./pins.ts";
import type { NetworkPin, Pins } from "./pins.ts";
import { makePrivateFolder } from "./private-files.ts";
import { Seal } from "./seal.ts";
import { writePayment } from "./spending.ts";
import { StackWallets } from "./stack-wallets.ts";
import { WalletError } from "./wallet-error.ts";

/** Where a wallet is on this machine. */
export interface WalletPlace {
  /** Keystore, pins, limits and ledger. */
  dir: string;
  /** The ledger's head and the list of wallets for local stacks. Apart from `dir`, so that a restored copy of one is noticed. */
  stateDir: string;
}

/** The directories of the XDG standard. @param env `process.env` */
export function defaultPlace(env: Readonly<Record<string, string | undefined>>): WalletPlace {
  const home = homedir();
  const dataHome = env["XDG_DATA_HOME"] ?? join(home, ".local", "share");
  const stateHome = env["XDG_STATE_HOME"] ?? join(home, ".local", "state");
  return { dir: join(dataHome, "agent-marketplace"), stateDir: join(stateHome, "agent-marketplace") };
}

/** What `init` says of a new wallet. */
export interface NewWallet {
  place: WalletPlace;
  password: string;
  /** Address of the API. */
  url: string;
  /** Address that sign-in messages name, if it is another. */
  publicUrl?: string | undefined;
  /** JSON-RPC nodes by network. Networks without one aren't used. */
  rpcUrls: Readonly<Partial<Record<Network, string>>>;
  /** The text of a private key to import, from standard input or a file; a new key by default. */
  importedKey?: string | undefined;
  /** {@link DEFAULT_LIMITS} by default. */
  limits?: Limits | undefined;
  /** Cost of scrypt, a power of two; lower only in tests. */
  scryptCost?: number | undefined;
}

/** How an existing wallet is opened. */
export interface OpenOptions {
  place: WalletPlace;
  password: string;
  /** Whether calls beyond the daily budgets are paid for by x402, within the limits. Needs `@x402/core` and `@x402/evm`. */
  paysForCalls?: boolean | undefined;
  /** How often a wallet asks its node for a block, in milliseconds. */
  pollingMs?: number | undefined;
  now?: (() => Date) | undefined;
  /** For tests that kill the process there. */
  onLedgerStep?: ((step: LedgerStep) => void) | undefined;
}

/** A wallet with its limits. Its key doesn't leave it, and signs only what the guard permits. */
export interface OpenWallet {
  address: Address;
  pins: Pins;
  /** Signs in, agrees in disputes and pays for calls; it refuses every call that the wallet hasn't encoded itself. */
  account: GuardedAccount["account"];
  /** The signer of tools, within the limits. */
  signer: Signer;
  /** Checks as `signer` does, and answers `signature_required` with what would be signed. */
  dryRunSigner: Signer;
  /** A client of the pinned service, which refuses other escrow contracts. */
  market: Marketplace;
  /** The guarded account on a pinned network, for `market.agent({ apiKey, wallet })`. */
  walletOn(network: Network): Wallet;
  /** The limits as they are now. @throws WalletError `limits_broken` */
  limits(): Promise<Limits>;
  /** What was spent so far, in millionths of a US dollar. @throws ToolRefusal if the ledger can't be used */
  spent(): Promise<{ todayUsd: bigint; totalUsd: bigint }>;
  /** What waits for `approve`. */
  waiting(): Promise<Pick<Asked, "id" | "dealId" | "usd" | "summary" | "expiresAt">[]>;
  /** Lets the key sign EIP-712 statements to the service that name no contract, such as a mandate. */
  permitStatement(primaryType: string): void;
}

const KEYSTORE = "keystore.json";
const PINS = "pins.json";
const LIMITS = "limits.json";
const NO_BOUND = 10n ** 18n;

/**
 * Makes a wallet, or imports one, and pins what the service says of its networks. A second call after a crash completes the
 * first one only with another directory: an existing keystore is never replaced.
 * @throws WalletError `wallet_exists`, `invalid_key`, `pins_differ`, `not_a_stack_wallet`, `stack_wallet`, `invalid_limits`
 */
export async function createWallet(options: NewWallet): Promise<{ address: Address; isStackWallet: boolean }> {
  const { place, password, url, publicUrl = url, rpcUrls, importedKey, scryptCost } = options;
  const limits = parseLimits(options.limits ?? DEFAULT_LIMITS);
  const stackWallets = new StackWallets(place.stateDir);
  const networks = pinNetworks(await new Marketplace({ url }).networks(), rpcUrls);
  const isStackWallet = await areLocal(networks);
  const privateKey = importedKey === undefined ? generatePrivateKey() : parsePrivateKey(importedKey);
  const address = privateKeyToAddress(privateKey);
  if (importedKey !== undefined) {
    const isOfStack = await stackWallets.has(address);
    for (const { network } of networks) requireRightWallet(isOfStack, isStackWallet, network);
  }
  await makePrivateFolder(place.dir);
  await makePrivateFolder(place.stateDir);
  await writeKeystore(join(place.dir, KEYSTORE), await encryptKey(privateKey, password, scryptCost));
  // Listed before anything can be signed with it.
  if (isStackWallet) await stackWallets.add(address);
  await writePins(join(place.dir, PINS), new Seal(privateKey, "pins"), {
    version: 1,
    url,
    publicUrl,
    isStackWallet,
    networks,
  });
  await ledgerOf(place, privateKey).create();
  await storeLimits(place, privateKey, limits);
  return { address, isStackWallet };
}

/**
 * Opens the wallet with its password.
 * @throws WalletError `wallet_missing`, `wrong_password`, `open_to_others`, `file_broken`, `pins_broken`
 */
export async function openWallet(options: OpenOptions): Promise<OpenWallet> {
  const { place, password, pollingMs, now = () => new Date(), onLedgerStep } = options;
  const privateKey = await unlock(place, password);
  const pins = await readPins(join(place.dir, PINS), new Seal(privateKey, "pins"));
  const ledger = ledgerOf(place, privateKey, { now, onStep: onLedgerStep });
  const limits = limitsOf(place, privateKey, ledger);
  const account = new GuardedAccount(privateKey, {
    pins,
    chains: new ChainCheck(pins),
    countPayment: async (payment) => {
      await writePayment(ledger, await limits(), payment);
    },
  });
  const escrowContracts = Object.fromEntries(pins.networks.map(({ network, escrow }) => [network, escrow]));
  const walletOn = (pin: NetworkPin): Wallet => walletClient(account, pin, pollingMs);
  const payer = options.paysForCalls === true ? pins.networks.find(({ payments }) => payments !== null) : undefined;
  // The guard counts each payment in the ledger, before it signs. The client's own bounds would count for one process alone.
  const bounds = { maxPerCallUsd: NO_BOUND, maxPerDayUsd: NO_BOUND };
  const payments = payer === undefined ? undefined : { wallet: walletOn(payer), ...bounds };
  const market = new Marketplace({ url: pins.url, publicUrl: pins.publicUrl, escrowContracts, payments });
  const readNetworks = (): Promise<NetworkStatus[]> => market.networks();
  const parts = { account, pins, limits, ledger, walletOn, readNetworks };
  return {
    address: account.account.address,
    pins,
    account: account.account,
    signer: limitedSigner(parts),
    dryRunSigner: limitedSigner({ ...parts, isDryRun: true }),
    market,
    walletOn(network) {
      const pin = pins.networks.find((candidate) => candidate.network === network);
      if (pin === undefined) throw new RefusedError(`the wallet hasn't pinned the network ${network}`);
      return walletOn(pin);
    },
    limits,
    async spent() {
      const state = await ledger.read();
      return { todayUsd: state.onDay(dayOf(now())), totalUsd: state.totalUsd };
    },
    waiting: async () => (await ledger.read()).waiting(now()),
    permitStatement: (primaryType) => {
      account.permitStatement(primaryType);
    },
  };
}

/** Whether there is a wallet, and which. Needs no password. */
export async function findWallet(place: WalletPlace): Promise<Address | undefined> {
  try {
    return addressIn(await readKeystore(join(place.dir, KEYSTORE)));
  } catch (error) {
    if (error instanceof WalletError && error.code === "wallet_missing") return undefined;
    throw error;
  }
}

/**
 * Sets the limits. The password is asked for afresh, and never that of an open wallet.
 * @throws WalletError `wrong_password`, `invalid_limits`; ToolRefusal if the ledger can't be used
 */
export async function setLimits(place: WalletPlace, password: string, limits: unknown): Promise<Limits> {
  const parsed = parseLimits(limits);
  await storeLimits(place, await unlock(place, password), parsed);
  return parsed;
}

/**
 * Approves what waits under an id: a deal at its amount, once and until it expires, or a damaged ledger.
 * @returns what was approved, in words
 * @throws WalletError `wrong_password`, `approval_unknown`, `approval_ended`
 */
export async function approve(
  place: WalletPlace,
  password: string,
  id: string,
  now: () => Date = () => new Date(),
): Promise<string> {
  const ledger = ledgerOf(place, await unlock(place, password), { now });
  if (id.startsWith("ledger-")) {
    if (!(await ledger.repair(id))) throw unknownApproval(id);
    return "A new ledger, which carries over what the damaged one still says.";
  }
  let summary = "";
  await ledger.write((state, at) => {
    const asked = state.askedById(id);
    if (asked === undefined) throw unknownApproval(id);
    summary = asked.summary;
    if (Date.parse(asked.expiresAt) <= at.getTime()) throw endedApproval(asked);
    return state.isApproved(id) ? undefined : { kind: "approved", id };
  });
  return summary;
}

/**
 * Pins again what the service says of its networks now. Show the difference to a person first.
 * @throws WalletError `wrong_password`, `pins_differ`, `not_a_stack_wallet`, `stack_wallet`
 */
export async function repin(
  place: WalletPlace,
  password: string,
  { url, publicUrl = url, rpcUrls }: Pick<NewWallet, "url" | "publicUrl" | "rpcUrls">,
): Promise<Pins> {
  const privateKey = await unlock(place, password);
  const networks = pinNetworks(await new Marketplace({ url }).networks(), rpcUrls);
  const isStackWallet = await new StackWallets(place.stateDir).has(privateKeyToAddress(privateKey));
  const isLocal = await areLocal(networks);
  for (const { network } of networks) requireRightWallet(isStackWallet, isLocal, network);
  const pins: Pins = { version: 1, url, publicUrl, isStackWallet, networks };
  await writePins(join(place.dir, PINS), new Seal(privateKey, "pins"), pins);
  return pins;
}

/** Whether the networks are local ones, all or none. @throws WalletError `other_chain` */
async function areLocal(networks: readonly NetworkPin[]): Promise<boolean> {
  const nodes = await Promise.all(
    networks.map(async ({ network, chainId, rpcUrl }) => {
      const node = await readNode(rpcUrl);
      if (node.chainId === chainId) return node.isLocal;
      const message = `The node of ${network} is of the chain ${String(node.chainId)}, not ${String(chainId)}.`;
      throw new WalletError("other_chain", message, "Give the address of a node of that network.");
    }),
  );
  if (nodes.length > 0 && new Set(nodes).size === 1) return nodes[0] === true;
  const message =
    nodes.length === 0 ? "No network was given a node." : "Some of the networks are local and some are live.";
  throw new WalletError("other_chain", message, "Give nodes of live chains alone, or of one local stack.");
}

async function unlock(place: WalletPlace, password: string): Promise<Hex> {
  return decryptKey(await readKeystore(join(place.dir, KEYSTORE)), password);
}

/** The file first: killed in between, the wallet has limits that its ledger doesn't name, and spends nothing. */
async function storeLimits(place: WalletPlace, privateKey: Hex, limits: Limits): Promise<void> {
  const seal = new Seal(privateKey, "limits");
  const ledger = ledgerOf(place, privateKey);
  await ledger.read();
  await writeLimits(join(place.dir, LIMITS), seal, limits);
  await ledger.write(() => ({ kind: "limits", hash: hashOf(seal, limits) }));
}

function limitsOf(place: WalletPlace, privateKey: Hex, ledger: Ledger): () => Promise<Limits> {
  const seal = new Seal(privateKey, "limits");
  return async () => {
    const { limitsHash } = await ledger.read();
    return readLimits(join(place.dir, LIMITS), seal, (hash) => hash === limitsHash);
  };
}

function ledgerOf(
  { dir, stateDir }: WalletPlace,
  privateKey: Hex,
  options: { now?: () => Date; onStep?: ((step: LedgerStep) => void) | undefined } = {},
): Ledger {
  const seals = { ledger: new Seal(privateKey, "ledger"), head: new Seal(privateKey, "head") };
  // A wallet that is made after another one was moved away has a head of its own, and one that is imported again has its old.
  const headFile = join(stateDir, `ledger-head-${privateKeyToAddress(privateKey).toLowerCase()}.json`);
  return new Ledger({ place: { folder: join(dir, "ledger"), headFile }, seals, ...options });
}

function walletClient({ account }: GuardedAccount, pin: NetworkPin, pollingInterval: number | undefined): Wallet {
  const chain = defineChain({
    id: pin.chainId,
    name: pin.network,
    nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [pin.rpcUrl] } },
  });
  const transport = http(pin.rpcUrl);
  return createWalletClient({
    account,
    chain,
    transport,
    ...(pollingInterval === undefined ? {} : { pollingInterval }),
  });
}

function unknownApproval(id: string): WalletError {
  const whatToDo = "Repeat the call that asked for it, and take the id of its answer.";
  return new WalletError("approval_unknown", `Nothing waits for an approval with the id ${id}.`, whatToDo);
}

function endedApproval({ id, expiresAt }: Asked): WalletError {
  const whatToDo = "Repeat the call: it asks again with a new id.";
  return new WalletError("approval_ended", `The request ${id} ended at ${expiresAt}.`, whatToDo);
}
