import { isAddress } from "viem";
import type { Address } from "viem";
import { z } from "zod";

import type { Network, NetworkStatus } from "../../../sdk/src/index.ts";
import { readPrivateFile, writePrivateFile } from "./private-files.ts";
import type { Seal } from "./seal.ts";
import { WalletError } from "./wallet-error.ts";

const address = z.custom<Address>((value) => typeof value === "string" && isAddress(value, { strict: false }));

const networkPin = z.strictObject({
  network: z.enum(["base-sepolia", "base"]),
  chainId: z.int().positive(),
  /** JSON-RPC node that the wallet asks and sends to. */
  rpcUrl: z.url(),
  escrow: address,
  resolver: address,
  tokens: z.array(z.strictObject({ symbol: z.string(), address, decimals: z.int().min(0).max(36) })),
  /** Who is paid for calls by x402, and in which token; null where nothing is paid for. */
  payments: z.strictObject({ payTo: address, token: address }).nullable(),
});

const pinsSchema = z.strictObject({
  version: z.literal(1),
  /** Address of the API. */
  url: z.url(),
  /** Address that sign-in messages name. */
  publicUrl: z.url(),
  /** Whether the wallet was made for a local stack. It then signs for local chains alone, and any other for none. */
  isStackWallet: z.boolean(),
  networks: z.array(networkPin).min(1),
});

/** What the wallet has pinned of one network. */
export type NetworkPin = z.output<typeof networkPin>;
/** What the wallet holds the service against. */
export type Pins = z.output<typeof pinsSchema>;

/** Chain ids and the address of USDC, which nobody can name otherwise: those of the live networks, and of the local chains. */
const KNOWN: Readonly<Record<Network, { chainId: number; usdc?: Address }>> = {
  "base-sepolia": { chainId: 84_532, usdc: "0x036CbD53842c5426634e7929541eC2318f3dCF7e" },
  base: { chainId: 8_453, usdc: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913" },
};
const DECIMALS: Readonly<Record<string, number>> = { USDC: 6, WETH: 18 };

/**
 * Takes down what the service says of its networks.
 * @param rpcUrls nodes by network; networks without one aren't pinned
 * @throws WalletError `pins_differ` where the service contradicts what everybody knows
 */
export function pinNetworks(
  networks: readonly NetworkStatus[],
  rpcUrls: Readonly<Partial<Record<Network, string>>>,
): NetworkPin[] {
  return networks.flatMap(({ network, chainId, contracts, tokens, payments }) => {
    const rpcUrl = rpcUrls[network];
    if (rpcUrl === undefined) return [];
    const known = KNOWN[network];
    if (chainId !== known.chainId) throw differs(`${network}.chainId`, chainId, known.chainId);
    for (const token of tokens) {
      const decimals = DECIMALS[token.symbol] ?? token.decimals;
      if (token.decimals !== decimals) throw differs(`${network}.${token.symbol}.decimals`, token.decimals, decimals);
      const isUsdc = token.symbol === "USDC" && known.usdc !== undefined;
      if (isUsdc && !isSame(token.address, known.usdc)) throw differs(`${network}.USDC`, token.address, known.usdc);
    }
    const { escrow, resolver } = contracts;
    const pinned = tokens.map(({ symbol, address: at, decimals }) => ({ symbol, address: at, decimals }));
    const payTo = payments === null ? null : { payTo: payments.payTo, token: payments.token };
    return [{ network, chainId, rpcUrl, escrow, resolver, tokens: pinned, payments: payTo }];
  });
}

/**
 * Holds what the service says now against what was pinned. What it adds is never used.
 * @throws WalletError `pins_differ`, naming the field
 */
export function requirePinned(pins: Pins, networks: readonly NetworkStatus[]): void {
  for (const pin of pins.networks) {
    const said = networks.find(({ network }) => network === pin.network);
    if (said === undefined) throw differs(pin.network, "no such network", "a network");
    const { network } = pin;
    if (said.chainId !== pin.chainId) throw differs(`${network}.chainId`, said.chainId, pin.chainId);
    for (const contract of ["escrow", "resolver"] as const) {
      if (!isSame(said.contracts[contract], pin[contract])) {
        throw differs(`${network}.${contract}`, said.contracts[contract], pin[contract]);
      }
    }
    for (const token of pin.tokens) {
      const named = said.tokens.find(({ symbol }) => symbol === token.symbol);
      const field = `${network}.${token.symbol}`;
      if (!isSame(named?.address, token.address)) throw differs(field, named?.address ?? "nothing", token.address);
      if (named?.decimals !== token.decimals) throw differs(`${field}.decimals`, named?.decimals ?? "", token.decimals);
    }
    for (const field of ["payTo", "token"] as const) {
      const [now, then] = [said.payments?.[field], pin.payments?.[field]];
      if (now !== undefined && !isSame(now, then))
        throw differs(`${network}.payments.${field}`, now, then ?? "nothing");
    }
  }
}

/** Reads the pins. @throws WalletError `pins_broken` if they are missing or altered */
export async function readPins(file: string, seal: Seal): Promise<Pins> {
  const text = await readPrivateFile(file);
  const parsed = pinsSchema.safeParse(text === undefined ? undefined : seal.open(text));
  if (parsed.success) return parsed.data;
  const how = text === undefined ? "is missing" : "was altered, or isn't this wallet's";
  const whatToDo = "Restore it from a backup, or pin the service again: agent-marketplace init --repin";
  throw new WalletError("pins_broken", `${file} ${how}, and the wallet signs nothing without it.`, whatToDo);
}

export async function writePins(file: string, seal: Seal, pins: Pins): Promise<void> {
  await writePrivateFile(file, seal.close(pinsSchema.parse(pins)));
}

function differs(field: string, said: unknown, pinned: unknown): WalletError {
  return new WalletError(
    "pins_differ",
    `${field}: the service says ${String(said)}, and the wallet knows ${String(pinned)}. Nothing was signed.`,
    "Ask the operator of the marketplace. Pin it again only if they confirm the change: agent-marketplace init --repin",
  );
}

/** Whether two addresses are the same, whatever their case. */
export function isSame(given: string | undefined, expected: string | undefined): boolean {
  return given !== undefined && given.toLowerCase() === expected?.toLowerCase();
}
