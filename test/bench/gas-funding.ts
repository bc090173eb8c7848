import type { TypedDataDomain } from "ethers";

import { AMOUNT, type GasSetup, used } from "./gas-setup.ts";

type Terms = Awaited<ReturnType<GasSetup["steps"]["terms"]>>;

/** Deposits of $10, the most that every score allows, and of $20, in token units; ETH is at $3,000. */
const DEPOSITS = {
  USDC: { $10: AMOUNT / 2n, $20: AMOUNT },
  WETH: { $10: 10n ** 16n / 3n, $20: (2n * 10n ** 16n) / 3n },
};

/**
 * What it costs to fund an escrow in each way: the buyer approves the exact amount and creates it, two transactions; or
 * a relayer creates it with the buyer's authorization, one transaction. WETH takes no authorization.
 */
export async function measureFunding(setup: GasSetup): Promise<Record<string, number>> {
  const { contracts, addresses, steps } = setup;
  const gas: Record<string, number> = {};
  for (const [symbol, deposits] of Object.entries(DEPOSITS)) {
    const [token, address] =
      symbol === "USDC" ? ([contracts.usdc, addresses.usdc] as const) : ([contracts.weth, addresses.weth] as const);
    const byBuyer = token.connect(setup.wallets.buyer) as typeof contracts.weth;
    await byBuyer.approve(addresses.escrow, 0);
    for (const [value, amount] of Object.entries(deposits)) {
      const approval = await used(byBuyer.approve(addresses.escrow, amount));
      gas[`approve + create (${symbol}, ${value})`] =
        approval + (await used(steps.create(await steps.terms(amount, address))));
    }
  }
  for (const [value, amount] of Object.entries(DEPOSITS.USDC)) {
    const terms = await steps.terms(amount, addresses.usdc);
    gas[`authorization + create (USDC, ${value})`] = await relayedCreation(setup, terms);
  }
  return gas;
}

/** Gas of the relayer's transaction. */
export async function relayedCreation(setup: GasSetup, terms: Terms): Promise<number> {
  const { validAfter, validBefore, signature } = await authorization(setup, terms);
  const escrow = setup.contracts.escrow.connect(setup.wallets.relayer);
  return used(escrow.createEscrowWithAuthorization(terms, validAfter, validBefore, signature));
}

async function authorization({ connection, contracts, wallets, addresses }: GasSetup, terms: Terms) {
  const { chainId } = await connection.ethers.provider.getNetwork();
  const domain: TypedDataDomain = { name: "USD Coin", version: "2", chainId, verifyingContract: addresses.usdc };
  const fields = ["address from", "address to", "uint256 value", "uint256 validAfter", "uint256 validBefore"];
  const types = {
    ReceiveWithAuthorization: [...fields, "bytes32 nonce"].map((field) => {
      const [type = "", name = ""] = field.split(" ");
      return { type, name };
    }),
  };
  const validAfter = 0n;
  const validBefore = terms.deadline;
  const signature = await wallets.buyer.signTypedData(domain, types, {
    from: terms.buyer,
    to: addresses.escrow,
    value: terms.amount,
    validAfter,
    validBefore,
    nonce: await contracts.escrow.authorizationNonce(terms),
  });
  return { validAfter, validBefore, signature };
}
