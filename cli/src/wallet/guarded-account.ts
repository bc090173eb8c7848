import { decodeFunctionData, getAddress, isAddressEqual, isHex } from "viem";
import type { Abi, Address, Hex, LocalAccount, TransactionSerializable, TypedDataDefinition } from "viem";
import { privateKeyToAccount, toAccount } from "viem/accounts";
import { parseSiweMessage } from "viem/siwe";

import { escrowAbi, RefusedError, resolverAbi } from "../../../sdk/src/index.ts";
import type { ChainCheck } from "./chain-check.ts";
import { isSame } from "./pins.ts";
import type { NetworkPin, Pins } from "./pins.ts";

/** A call that the wallet has encoded itself, after it has checked what for. */
export interface PermittedCall {
  chainId: number;
  to: Address;
  data: Hex;
}

/** A deposit that the wallet has written down, which may also be paid by signature (EIP-3009). */
export interface PermittedDeposit {
  token: Address;
  escrow: Address;
  amount: bigint;
  /** The hash of every term of the deal. */
  nonce: Hex;
}

/** Counts a call that is paid for by x402. It throws to refuse. */
export type CountPayment = (payment: { nonce: Hex; network: string; usd: bigint }) => Promise<void>;

/** Calls of the escrow contract that pay nobody but this wallet, or nothing. */
const HARMLESS: readonly string[] = ["withdraw", "setSellerTerms"];
/** Statements of the service that moves nothing: which keys, budgets and limits an agent has there. */
const SIGN_IN_STATEMENTS: readonly string[] = [
  "Register this wallet as an agent of the marketplace.",
  "Issue a new API key for this wallet's agent.",
  "List this wallet, whose key was made for this local stack.",
];
/** Most that a transaction may burn as gas, in wei: far above what any call costs, and far below a wallet's worth. */
const MOST_GAS_WEI = 10_000_000_000_000_000n;

/**
 * The wallet's key behind a guard. Whatever asks it to sign, it signs only calls that the wallet has encoded itself and
 * permitted, and statements of known form for the pinned service.
 */
export class GuardedAccount {
  /** For clients of viem and of the marketplace. It can't export the key. */
  readonly account: LocalAccount;
  readonly #key: ReturnType<typeof privateKeyToAccount>;
  readonly #pins: Pins;
  readonly #chains: ChainCheck;
  readonly #countPayment: CountPayment;
  readonly #calls = new Set<string>();
  readonly #deposits = new Map<string, PermittedDeposit>();
  readonly #statements = new Set<string>();

  constructor(privateKey: Hex, parts: { pins: Pins; chains: ChainCheck; countPayment: CountPayment }) {
    this.#key = privateKeyToAccount(privateKey);
    this.#pins = parts.pins;
    this.#chains = parts.chains;
    this.#countPayment = parts.countPayment;
    this.account = toAccount({
      address: this.#key.address,
      signMessage: ({ message }) => this.#signMessage(message),
      signTransaction: (transaction) => this.#signTransaction(transaction as TransactionSerializable),
      signTypedData: (typedData) => this.#signTypedData(typedData as TypedDataDefinition),
    });
  }

  /** Lets the key sign this very call. */
  permitCall(call: PermittedCall): void {
    this.#calls.add(nameOf(call));
  }

  /** Lets the key sign a deposit with these very terms. */
  permitDeposit(chainId: number, deposit: PermittedDeposit): void {
    this.#deposits.set(`${String(chainId)}:${deposit.nonce}`, deposit);
  }

  /** Lets the key sign EIP-712 statements of a type that names the service's host and no contract. */
  permitStatement(primaryType: string): void {
    this.#statements.add(primaryType);
  }

  async #signTransaction(transaction: TransactionSerializable): Promise<Hex> {
    const { chainId = 0, to, data, value = 0n } = transaction;
    const pin = await this.#chains.require(chainId);
    if (value !== 0n) throw refused("a call that sends ether");
    if (!isHex(data) || to === undefined || to === null) throw refused("a transaction that isn't a call");
    const isBare = ["authorizationList", "blobs", "sidecars"].every(
      (field) => (transaction as Record<string, unknown>)[field] === undefined,
    );
    if (!isBare) throw refused("a transaction that delegates the wallet or carries blobs");
    const { gas = 0n } = transaction;
    const price = transaction.maxFeePerGas ?? transaction.gasPrice ?? 0n;
    if (gas * price > MOST_GAS_WEI) throw refused(`a call whose gas may cost ${String(gas * price)} wei`);
    const isKnown = this.#calls.has(nameOf({ chainId, to, data })) || isHarmless(pin, to, data);
    if (!isKnown) throw refused(`a call of ${to} that it hasn't encoded itself`);
    return this.#key.signTransaction(transaction);
  }

  async #signMessage(message: unknown): Promise<Hex> {
    if (typeof message !== "string") throw refused("bytes that aren't a text");
    const { address, chainId = 0, domain, statement = "", uri = "" } = parseSiweMessage(message);
    const { host, origin } = new URL(this.#pins.publicUrl);
    const isOurs = domain === host && uri === origin && isSame(address, this.#key.address);
    if (!isOurs || !SIGN_IN_STATEMENTS.includes(statement)) throw refused(`a text that doesn't sign in to ${host}`);
    await this.#chains.require(chainId);
    return this.#key.signMessage({ message });
  }

  async #signTypedData(typedData: TypedDataDefinition): Promise<Hex> {
    const {
      primaryType,
      domain = {},
      message,
    } = typedData as {
      primaryType: string;
      domain?: { chainId?: number | bigint; verifyingContract?: Address };
      message: Record<string, unknown>;
    };
    if (domain.verifyingContract === undefined) {
      if (!this.#statements.has(primaryType)) throw refused(`a statement of the type ${primaryType}`);
      return this.#key.signTypedData(typedData);
    }
    const pin = await this.#chains.require(Number(domain.chainId ?? 0));
    const { verifyingContract } = domain;
    switch (primaryType) {
      case "ResolutionAgreement":
        if (!isSame(verifyingContract, pin.resolver)) throw refused(`an agreement at ${verifyingContract}`);
        break;
      case "PaymentMethod":
        if (!isSame(verifyingContract, pin.escrow)) throw refused(`a payment method at ${verifyingContract}`);
        break;
      case "ReceiveWithAuthorization":
        this.#requireDeposit(pin, verifyingContract, message);
        break;
      case "TransferWithAuthorization":
        await this.#requirePayment(pin, verifyingContract, message);
        break;
      default:
        throw refused(`a statement of the type ${primaryType}`);
    }
    return this.#key.signTypedData(typedData);
  }

  #requireDeposit({ chainId }: NetworkPin, token: Address, message: Record<string, unknown>): void {
    const { from, to, value, nonce } = message as { from?: string; to?: string; value?: bigint; nonce?: string };
    const deposit = this.#deposits.get(`${String(chainId)}:${nonce ?? ""}`);
    const isAgreed =
      deposit !== undefined &&
      isSame(token, deposit.token) &&
      isSame(to, deposit.escrow) &&
      isSame(from, this.#key.address) &&
      value === deposit.amount;
    if (!isAgreed) throw refused("a deposit that it hasn't written down");
  }

  async #requirePayment({ network, payments }: NetworkPin, token: Address, message: Record<string, unknown>) {
    const { from, to, value, nonce } = message as { from?: string; to?: string; value?: bigint; nonce?: Hex };
    const isOurs = payments !== null && isSame(token, payments.token) && isSame(to, payments.payTo);
    if (!isOurs || !isSame(from, this.#key.address)) throw refused(`a payment to ${String(to)}`);
    if (typeof value !== "bigint" || typeof nonce !== "string") throw refused("a payment without an amount");
    // The token of payments is USDC, whose units are millionths of a dollar.
    await this.#countPayment({ nonce, network, usd: value });
  }
}

/** Whether a call pays nobody else, whoever encoded it. */
function isHarmless({ escrow, resolver }: NetworkPin, to: Address, data: Hex): boolean {
  if (isAddressEqual(to, escrow)) return HARMLESS.includes(functionOf(escrowAbi, data));
  // The contract asks for the signatures of both parties.
  return isAddressEqual(to, resolver) && functionOf(resolverAbi, data) === "resolveByAgreement";
}

function functionOf(abi: Abi, data: Hex): string {
  try {
    return decodeFunctionData({ abi, data }).functionName;
  } catch {
    return "";
  }
}

const nameOf = ({ chainId, to, data }: PermittedCall): string => `${String(chainId)}:${getAddress(to)}:${data}`;

function refused(what: string): RefusedError {
  return new RefusedError(`the wallet doesn't sign ${what}`);
}
