import { assert } from "chai";
import { createWalletClient, http, verifyTypedData } from "viem";
import type { Address, Hex } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { baseSepolia } from "viem/chains";

import { ChainCheck } from "../../../cli/src/wallet/chain-check.ts";
import { GuardedAccount } from "../../../cli/src/wallet/guarded-account.ts";
import type { CountPayment } from "../../../cli/src/wallet/guarded-account.ts";
import type { Pins } from "../../../cli/src/wallet/pins.ts";
import { RefusedError, signIn } from "../../../sdk/src/index.ts";
import { openChain } from "../../fixtures/stack.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";

const PAY_TO: Address = "0x1111111111111111111111111111111111111111";
const TOKEN: Address = "0x2222222222222222222222222222222222222222";
const ESCROW: Address = "0x3333333333333333333333333333333333333333";
const RESOLVER: Address = "0x4444444444444444444444444444444444444444";
const STRANGER: Address = "0x5555555555555555555555555555555555555555";
const NONCE: Hex = `0x${"a".repeat(64)}`;
const CHAIN_ID = 84_532;

describe("the guard of a wallet's key", () => {
  let pins: Pins;
  let guard: GuardedAccount;
  let counted: Parameters<CountPayment>[0][];
  let refuses: boolean;

  before(async () => {
    const { rpcUrl } = await openChain("base-sepolia");
    const tokens = [{ symbol: "USDC", address: TOKEN, decimals: 6 }];
    const payments = { payTo: PAY_TO, token: TOKEN };
    const contracts = { escrow: ESCROW, resolver: RESOLVER };
    const network = { network: "base-sepolia" as const, chainId: CHAIN_ID, rpcUrl, tokens, payments, ...contracts };
    const url = "https://market.example";
    pins = { version: 1, url, publicUrl: url, isStackWallet: true, networks: [network] };
  });
  beforeEach(() => {
    counted = [];
    refuses = false;
    const countPayment: CountPayment = (payment) => {
      if (refuses) return Promise.reject(new Error("above the limit"));
      counted.push(payment);
      return Promise.resolve();
    };
    guard = new GuardedAccount(generatePrivateKey(), { pins, chains: new ChainCheck(pins), countPayment });
  });

  /** An authorization of EIP-3009 with changes. */
  function authorization(
    primaryType: string,
    {
      chainId = CHAIN_ID,
      token = TOKEN,
      ...change
    }: Record<string, unknown> & { chainId?: number; token?: Address } = {},
  ) {
    const types = {
      [primaryType]: [
        { name: "from", type: "address" },
        { name: "to", type: "address" },
        { name: "value", type: "uint256" },
        { name: "nonce", type: "bytes32" },
      ],
    };
    const message = { from: guard.account.address, to: PAY_TO, value: 5_000n, nonce: NONCE, ...change };
    return { domain: { name: "USDC", version: "2", chainId, verifyingContract: token }, types, primaryType, message };
  }

  const sign = (typedData: ReturnType<typeof authorization>) => guard.account.signTypedData(typedData);
  const refused = (work: Promise<unknown>) => rejectionOf(work, RefusedError);

  it("signs a payment to the pinned recipient once it is counted, and no other", async () => {
    const payment = authorization("TransferWithAuthorization");
    const signature = await sign(payment);
    assert.isTrue(await verifyTypedData({ ...payment, address: guard.account.address, signature }));
    assert.deepEqual(counted, [{ nonce: NONCE, network: "base-sepolia", usd: 5_000n }]);
    for (const change of [{ to: STRANGER }, { from: STRANGER }, { token: STRANGER }]) {
      await refused(sign(authorization("TransferWithAuthorization", change)));
    }
    assert.lengthOf(counted, 1);
    await rejectionOf(sign(authorization("TransferWithAuthorization", { chainId: 8_453 })));
    refuses = true;
    await rejectionOf(sign(payment), Error);
  });

  it("signs a deposit that is written down, with its amount, contract and terms alone", async () => {
    const deposit = { to: ESCROW, value: 7n };
    await refused(sign(authorization("ReceiveWithAuthorization", deposit)));
    guard.permitDeposit(CHAIN_ID, { token: TOKEN, escrow: ESCROW, amount: 7n, nonce: NONCE });
    await sign(authorization("ReceiveWithAuthorization", deposit));
    const changes = [
      { value: 8n },
      { to: STRANGER },
      { from: STRANGER },
      { token: STRANGER },
      { nonce: `0x${"b".repeat(64)}` },
    ];
    for (const change of changes) {
      await refused(sign(authorization("ReceiveWithAuthorization", { ...deposit, ...change })));
    }
  });

  it("signs agreements and statements for the pinned contracts alone", async () => {
    await sign(authorization("ResolutionAgreement", { token: RESOLVER }));
    await sign(authorization("PaymentMethod", { token: ESCROW }));
    await refused(sign(authorization("ResolutionAgreement", { token: STRANGER })));
    await refused(sign(authorization("PaymentMethod", { token: TOKEN })));
    await refused(sign(authorization("Permit")));
    const { domain, ...rest } = authorization("Mandate");
    const statement = { ...rest, domain: { name: domain.name } };
    await refused(guard.account.signTypedData(statement));
    guard.permitStatement("Mandate");
    await guard.account.signTypedData(statement);
  });

  it("signs in to the pinned service alone", async () => {
    const [{ rpcUrl } = { rpcUrl: "" }] = pins.networks;
    const wallet = createWalletClient({ account: guard.account, chain: baseSepolia, transport: http(rpcUrl) });
    await signIn(wallet, pins.publicUrl, "issueKey");
    await refused(signIn(wallet, "https://other.example", "issueKey"));
    await signIn(wallet, pins.publicUrl, "listStackWallet");
    await refused(signIn(wallet, "https://other.example", "listStackWallet"));
    const { message } = await signIn(wallet, pins.publicUrl, "register");
    await refused(wallet.signMessage({ message: message.replace("Register this wallet", "Give this wallet away") }));
    await refused(wallet.signMessage({ message: { raw: "0x01" } }));
  });

  it("signs no call whose gas could empty the wallet, and none with more than a call", async () => {
    const call = { chainId: CHAIN_ID, to: ESCROW, data: "0x01" as const };
    guard.permitCall(call);
    const fees = { type: "eip1559", gas: 100_000n, maxFeePerGas: 1_000_000_000n } as const;
    await guard.account.signTransaction({ ...call, ...fees });
    await refused(guard.account.signTransaction({ ...call, ...fees, maxFeePerGas: 10n ** 12n }));
    await refused(guard.account.signTransaction({ ...call, ...fees, value: 1n }));
    await refused(guard.account.signTransaction({ ...call, ...fees, to: STRANGER }));
    await refused(guard.account.signTransaction({ ...call, ...fees, data: "0x02" }));
    const delegated = { ...call, ...fees, type: "eip7702", authorizationList: [] } as const;
    await refused(guard.account.signTransaction(delegated));
    await rejectionOf(guard.account.signTransaction({ ...call, ...fees, chainId: 8_453 }));
  });
});
