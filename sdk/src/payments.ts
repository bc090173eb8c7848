import { formatUnits } from "viem";
import type { Address } from "viem";

import { requireObject, requireUnits, requireWallet } from "./arguments.ts";
import { RefusedError } from "./errors.ts";
import type { ApiError } from "./errors.ts";
import type { Wallet } from "./wallet.ts";

/** How calls beyond the daily budgets are paid by x402. Amounts are in millionths of a US dollar: $0.01 is `10_000n`. */
export interface PaymentOptions {
  /** The agent's registered wallet, which holds USDC. It signs and needs no ether. */
  wallet: Wallet;
  /** Most for one call. Buying a pack is one call. */
  maxPerCallUsd: bigint;
  /** Most for all calls of a UTC day. What was signed counts, even if the call failed. Each `Marketplace` counts by itself. */
  maxPerDayUsd: bigint;
}

/** One way to pay that a 402 offers, in the names of x402 version 2. */
interface Offer {
  scheme: string;
  network: `${string}:${string}`;
  asset: string;
  amount: string;
  payTo: string;
  maxTimeoutSeconds: number;
  extra: Record<string, unknown> | undefined;
}

/** What the wallet is asked to sign. */
interface TypedData {
  domain: Record<string, unknown>;
  types: Record<string, unknown>;
  primaryType: string;
  message: Record<string, unknown>;
}

/** What the service says of a network, as far as payments go. */
interface PaymentNetwork {
  caip2: string;
  chainId: number;
  tokens: readonly { symbol: string; address: Address; decimals: number }[];
  payments: { payTo: Address; token: Address } | null;
}

/** Where payments may go. */
interface Recipient {
  caip2: string;
  chainId: number;
  payTo: Address;
  token: Address;
}

const USD_DECIMALS = 6;
const DAY_MS = 86_400_000;
const DEMAND_HEADER = "payment-required";
const AMOUNT = /^[1-9]\d{0,29}$/;

/** The payment of one request. It is signed once and sent with every attempt from then on. */
export class Payment {
  headers: Readonly<Record<string, string>> | undefined;
}

/** Pays for calls, within bounds that are checked before anything is signed. */
export class Payments {
  readonly wallet: Wallet;
  readonly #options: PaymentOptions;
  readonly #readNetworks: () => Promise<readonly PaymentNetwork[]>;
  readonly #now: () => number;
  #recipients: Promise<readonly Recipient[]> | undefined;
  #day = 0;
  #spentToday = 0n;

  /**
   * @param readNetworks the service's own list of networks, which is read once
   * @param now unix milliseconds, replaced in tests
   * @throws ArgumentError
   */
  constructor(
    options: PaymentOptions,
    readNetworks: () => Promise<readonly PaymentNetwork[]>,
    now: () => number = Date.now,
  ) {
    requireObject("payments", options);
    requireWallet("payments.wallet", options.wallet);
    requireUnits("payments.maxPerCallUsd", options.maxPerCallUsd);
    requireUnits("payments.maxPerDayUsd", options.maxPerDayUsd);
    this.wallet = options.wallet;
    this.#options = options;
    this.#readNetworks = readNetworks;
    this.#now = now;
  }

  /** Whether an answer asks for a payment. A 402 without the header says that nothing more is to be paid. */
  static isDemand({ status }: ApiError, headers: Headers): boolean {
    return status === 402 && headers.has(DEMAND_HEADER);
  }

  /**
   * Signs what a 402 asks for.
   * @returns the headers with which the request is sent again
   * @throws RefusedError, before anything is signed: beyond a bound, another recipient, token or network than those of
   * the service's list, or without the packages of x402
   */
  async sign(refusal: ApiError, headers: Headers): Promise<Record<string, string>> {
    const refuse = (why: string, cause: unknown = refusal): RefusedError =>
      new RefusedError(`${refusal.request} isn't paid for: ${why}`, { cause });
    const official = await loadOfficialClient().catch((cause: unknown) => {
      throw refuse("the packages @x402/core and @x402/evm are missing (npm install @x402/core @x402/evm)", cause);
    });
    let demand: ReturnType<InstanceType<typeof official.x402HTTPClient>["getPaymentRequiredResponse"]>;
    try {
      demand = new official.x402HTTPClient(new official.x402Client()).getPaymentRequiredResponse((name) =>
        headers.get(name),
      );
    } catch (cause) {
      throw refuse("its demand can't be read", cause);
    }
    const offers = offersOf(demand);
    if (offers === undefined) throw refuse("its demand isn't one of x402 version 2");
    const recipients = await this.#readRecipients();
    const found = offers.flatMap((offer) => {
      const recipient = recipients.find((known) => isFor(offer, known));
      return recipient === undefined ? [] : [{ offer, recipient }];
    })[0];
    if (found === undefined) {
      const asked = offers.map(({ asset, network, payTo }) => `${asset} on ${network} to ${payTo}`);
      throw refuse(`the service's list of networks doesn't name ${asked.join(" or ") || "a way to pay"}`);
    }
    const { offer, recipient } = found;
    const amount = BigInt(offer.amount);
    const { maxPerCallUsd } = this.#options;
    if (amount > maxPerCallUsd) throw refuse(`${dollars(amount)} is above maxPerCallUsd, ${dollars(maxPerCallUsd)}`);
    const giveBack = this.#reserve(amount, refuse);
    const signer = this.#signer(recipient, amount);
    try {
      const client = new official.x402Client()
        .register(offer.network, new official.ExactEvmScheme(signer))
        .setSpendControls({
          allowedAssets: [{ network: offer.network, asset: offer.asset, maxAmountPerPayment: String(maxPerCallUsd) }],
        });
      const payload = await client.createPaymentPayload({
        ...demand,
        accepts: [offer as (typeof demand.accepts)[number]],
      });
      return new official.x402HTTPClient(client).encodePaymentSignatureHeader(payload);
    } catch (cause) {
      if (!signer.hasSigned) giveBack();
      if (cause instanceof RefusedError) throw cause;
      throw refuse(`the wallet or the x402 client failed (${cause instanceof Error ? cause.message : "?"})`, cause);
    }
  }

  /** Counts an amount. @returns takes it back, for when nothing was signed */
  #reserve(amount: bigint, refuse: (why: string) => RefusedError): () => void {
    const today = Math.floor(this.#now() / DAY_MS);
    // A clock that is set back doesn't begin a day of its own.
    if (today > this.#day) {
      this.#day = today;
      this.#spentToday = 0n;
    }
    const { maxPerDayUsd } = this.#options;
    if (this.#spentToday + amount > maxPerDayUsd) {
      const left = maxPerDayUsd - this.#spentToday;
      throw refuse(
        `${dollars(amount)} is above the ${dollars(left)} left today of maxPerDayUsd, ${dollars(maxPerDayUsd)}`,
      );
    }
    this.#spentToday += amount;
    const day = this.#day;
    return () => {
      if (this.#day === day) this.#spentToday -= amount;
    };
  }

  /** Signs nothing but one transfer of this amount to this recipient, whatever the x402 client asks for. */
  #signer({ chainId, payTo, token }: Recipient, amount: bigint) {
    const { wallet } = this;
    const { account } = wallet;
    const signer = {
      address: account.address,
      hasSigned: false,
      async signTypedData(asked: TypedData) {
        const { domain, primaryType, message } = asked;
        const isAgreed =
          primaryType === "TransferWithAuthorization" &&
          domain["chainId"] === chainId &&
          isSame(domain["verifyingContract"], token) &&
          isSame(message["from"], account.address) &&
          isSame(message["to"], payTo) &&
          message["value"] === amount;
        if (!isAgreed) throw new RefusedError(`the x402 client asks for another signature, a ${primaryType}`);
        const signature = await wallet.signTypedData({ account, ...asked });
        signer.hasSigned = true;
        return signature;
      },
    };
    return signer;
  }

  /** Read once, so that a service that is taken over later can't name another recipient. */
  #readRecipients(): Promise<readonly Recipient[]> {
    this.#recipients ??= this.#readNetworks().then(
      (networks) => networks.flatMap(recipientOf),
      (error: unknown) => {
        this.#recipients = undefined;
        throw error;
      },
    );
    return this.#recipients;
  }
}

/** The official packages of x402, which a client that never pays does without. */
async function loadOfficialClient() {
  const [core, evm] = await Promise.all([import("@x402/core/client"), import("@x402/evm/exact/client")]);
  return { x402Client: core.x402Client, x402HTTPClient: core.x402HTTPClient, ExactEvmScheme: evm.ExactEvmScheme };
}

/** Amounts are in US dollars, so only USDC counts as the token of payments. */
function recipientOf({ caip2, chainId, payments, tokens }: PaymentNetwork): Recipient[] {
  if (payments === null) return [];
  const { payTo, token } = payments;
  const known = tokens.find(({ address }) => isSame(address, token));
  return known?.symbol === "USDC" && known.decimals === USD_DECIMALS ? [{ caip2, chainId, payTo, token }] : [];
}

/** The offers of a demand, as far as they are offers at all; undefined if the demand isn't one of version 2. */
function offersOf(demand: unknown): Offer[] | undefined {
  const { x402Version, accepts } = (demand ?? {}) as { x402Version?: unknown; accepts?: unknown };
  if (x402Version !== 2 || !Array.isArray(accepts)) return undefined;
  return accepts.filter((offer: unknown): offer is Offer => typeof offer === "object" && offer !== null);
}

function isFor(offer: Offer, { caip2, payTo, token }: Recipient): boolean {
  const { assetTransferMethod = "eip3009" } = offer.extra ?? {};
  const isTransfer = offer.scheme === "exact" && assetTransferMethod === "eip3009" && AMOUNT.test(offer.amount);
  return isTransfer && offer.network === caip2 && isSame(offer.asset, token) && isSame(offer.payTo, payTo);
}

function isSame(given: unknown, address: Address): boolean {
  return typeof given === "string" && given.toLowerCase() === address.toLowerCase();
}

function dollars(amount: bigint): string {
  return `$${formatUnits(amount, USD_DECIMALS)}`;
}
