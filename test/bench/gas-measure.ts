import { MaxUint256, type TypedDataDomain } from "ethers";
import hre from "hardhat";

import { measureAdministration } from "./gas-administration.ts";
import { measureFunding, relayedCreation } from "./gas-funding.ts";
import { measureParts } from "./gas-parts.ts";
import {
  ABANDONMENT_GRACE_SECONDS,
  AMOUNT,
  DISPUTE_WINDOW_SECONDS,
  type GasSetup,
  gasSetup,
  used,
} from "./gas-setup.ts";

/** Gas used by each operation and by parts of a whole deal, by their names, and bytes of deployed code by contract. */
export interface GasReport {
  gas: Record<string, number>;
  parts: Record<string, number>;
  codeBytes: Record<string, number>;
}

const RESOLUTION_TIMEOUT_SECONDS = 30 * 86_400;
const DELIVERY_SECONDS = 86_400;
/** Unix seconds, years after the measured chain begins. */
const AGREEMENT_DEADLINE = 2n ** 32n;
const CONTRACTS = ["EscrowV2", "ScoreV2", "ResolverV2"];
/** At $3,000: above the amount that fits the packed record and above the lowest cap; the other below both. */
const WETH_OF_15_USD = 5n * 10n ** 15n;
const WETH_OF_9_USD = 3n * 10n ** 15n;
const SMALL_CREATION = "createEscrow (job of $10)";
/** Bytes of the code that creates all three contracts, without its arguments. */
export const DEPLOYMENT = "MarketplaceDeployment (creation)";
/** The sum that the aim is about, as a row of the report. */
export const WHOLE_DEAL = "create + deliver + accept";
/** The same deal when the approval was for its amount alone, whose slot the deposit empties. */
export const DEAL_BY_EXACT_APPROVAL = `${WHOLE_DEAL} (exact approval)`;
/** The same deal in a token that is a plain contract. */
export const DEAL_IN_PLAIN_TOKEN = `${WHOLE_DEAL} (plain ERC-20)`;

/**
 * Measures every operation behind the proxies with everything on: score contract, caps that read both scores (a job of
 * $20), seller terms, allow-list. Both parties, the treasury and the escrow contract have a past, as in daily use.
 */
export async function measureGas(): Promise<GasReport> {
  const setup = await gasSetup();
  const gas: Record<string, number> = {
    ...(await measureDeal(setup)),
    ...(await measureCreations(setup)),
    ...(await measureTroubles(setup)),
    // Last: an abandonment takes the score that jobs above $10 need.
    ...(await measureEndings(setup)),
    ...(await measureExactApproval(await gasSetup())),
    ...(await measureFunding(await gasSetup())),
    [DEAL_IN_PLAIN_TOKEN]: await wholeDeal(await gasSetup({ isPlain: true }), AMOUNT),
    ...(await measureWethDeals(await gasSetup())),
    // On a chain of its own: the roles change hands.
    ...(await measureAdministration(await gasSetup())),
  };
  const parts = await measureParts((gas["createEscrow"] ?? 0) - (gas[SMALL_CREATION] ?? 0));
  const codeBytes: Record<string, number> = {};
  for (const name of CONTRACTS) {
    const artifact = await hre.artifacts.readArtifact(name);
    codeBytes[name] = (artifact.deployedBytecode.length - 2) / 2;
  }
  codeBytes[DEPLOYMENT] = ((await hre.artifacts.readArtifact("MarketplaceDeployment")).bytecode.length - 2) / 2;
  return { gas, parts, codeBytes };
}

async function measureDeal({ contracts, wallets, addresses, steps }: GasSetup): Promise<Record<string, number>> {
  const { escrow, usdc } = contracts;
  const deal = await steps.terms(AMOUNT, addresses.usdc);
  const createEscrow = await used(steps.create(deal));
  const submitDelivery = await used(escrow.connect(wallets.seller).submitDelivery(deal.escrowId, steps.hash()));
  const accept = await used(escrow.connect(wallets.buyer).accept(deal.escrowId));
  await usdc.connect(wallets.buyer).approve(wallets.relayer.address, MaxUint256);
  const transferFrom = await used(
    usdc.connect(wallets.relayer).transferFrom(wallets.buyer.address, wallets.seller.address, AMOUNT),
  );
  return {
    transferFrom,
    createEscrow,
    submitDelivery,
    accept,
    [WHOLE_DEAL]: createEscrow + submitDelivery + accept,
  };
}

async function measureCreations(setup: GasSetup): Promise<Record<string, number>> {
  const { addresses, steps } = setup;
  const small = await steps.terms(AMOUNT / 2n, addresses.usdc);
  const inWeth = await steps.terms(WETH_OF_15_USD, addresses.weth);
  const signed = await steps.terms(AMOUNT, addresses.usdc);
  return {
    [SMALL_CREATION]: await used(steps.create(small)),
    "createEscrow (WETH, price feed)": await used(steps.create(inWeth)),
    createEscrowWithAuthorization: await relayedCreation(setup, signed),
  };
}

/** Whole deals in WETH: one above the lowest cap, whose amount takes a fourth slot, and one below both bounds. */
async function measureWethDeals(setup: GasSetup): Promise<Record<string, number>> {
  const { weth } = setup.addresses;
  return {
    [`${WHOLE_DEAL} (WETH)`]: await wholeDeal(setup, WETH_OF_15_USD, weth),
    [`${WHOLE_DEAL} (WETH job of $9)`]: await wholeDeal(setup, WETH_OF_9_USD, weth),
  };
}

/** A deal whose buyer approves its amount first, as checkout proposes. */
async function measureExactApproval(setup: GasSetup): Promise<Record<string, number>> {
  const { contracts, wallets, addresses } = setup;
  const usdc = contracts.usdc.connect(wallets.buyer);
  await usdc.approve(addresses.escrow, 0);
  return {
    "approve (exact amount)": await used(usdc.approve(addresses.escrow, AMOUNT)),
    [DEAL_BY_EXACT_APPROVAL]: await wholeDeal(setup, AMOUNT),
  };
}

async function wholeDeal(
  { contracts, wallets, addresses, steps }: GasSetup,
  amount: bigint,
  token = addresses.usdc,
): Promise<number> {
  const deal = await steps.terms(amount, token);
  return (
    (await used(steps.create(deal))) +
    (await used(contracts.escrow.connect(wallets.seller).submitDelivery(deal.escrowId, steps.hash()))) +
    (await used(contracts.escrow.connect(wallets.buyer).accept(deal.escrowId)))
  );
}

async function measureEndings({ connection, contracts, wallets, steps }: GasSetup): Promise<Record<string, number>> {
  const { time } = connection.networkHelpers;
  const { escrow, resolver } = contracts;
  const gas: Record<string, number> = {};

  gas["refund"] = await used(escrow.connect(wallets.seller).refund(await steps.funded()));
  const several = [await steps.funded(), await steps.funded(), await steps.funded()];
  gas["refundMany (3 escrows)"] = await used(escrow.connect(wallets.seller).refundMany(several));

  const toDispute = await steps.delivered();
  gas["openDispute"] = await used(escrow.connect(wallets.buyer).openDispute(toDispute));
  gas["resolve"] = await used(resolver.connect(wallets.system).resolveBySystem(toDispute, 2, steps.hash()));
  const forAdmin = await steps.disputed();
  gas["resolveByAdmin"] = await used(resolver.connect(wallets.admin).resolveByAdmin(forAdmin, 2, 30, 70, steps.hash()));
  const agreed = await steps.disputed();
  const signatures = await agreement({ connection, contracts, wallets }, agreed, 40n);
  gas["resolveByAgreement"] = await used(
    resolver.connect(wallets.relayer).resolveByAgreement(agreed, 40, AGREEMENT_DEADLINE, signatures),
  );

  const forgotten = await steps.delivered();
  const unruled = await steps.disputed();
  const abandoned = await steps.funded();
  await time.increase(DISPUTE_WINDOW_SECONDS + 1);
  gas["finalize"] = await used(escrow.connect(wallets.relayer).finalize(forgotten));
  await time.increase(DELIVERY_SECONDS + ABANDONMENT_GRACE_SECONDS + 1);
  gas["claimAbandoned"] = await used(escrow.connect(wallets.buyer).claimAbandoned(abandoned));
  await time.increase(RESOLUTION_TIMEOUT_SECONDS + 1);
  gas["resolveExpired"] = await used(escrow.connect(wallets.relayer).resolveExpired(unruled));
  gas["setSellerTerms"] = await used(escrow.connect(wallets.seller).setSellerTerms(2_000_000, 900, false));
  return gas;
}

async function agreement(
  { connection, contracts, wallets }: Pick<GasSetup, "connection" | "contracts" | "wallets">,
  escrowId: string,
  buyerPercent: bigint,
): Promise<[string, string]> {
  const { chainId } = await connection.ethers.provider.getNetwork();
  const verifyingContract = await contracts.resolver.getAddress();
  const domain: TypedDataDomain = { name: "AgentMarketplaceResolver", version: "2", chainId, verifyingContract };
  const types = {
    ResolutionAgreement: [
      { name: "escrowId", type: "bytes32" },
      { name: "buyerPercent", type: "uint256" },
      { name: "deadline", type: "uint256" },
    ],
  };
  const message = { escrowId, buyerPercent, deadline: AGREEMENT_DEADLINE };
  return [
    await wallets.buyer.signTypedData(domain, types, message),
    await wallets.seller.signTypedData(domain, types, message),
  ];
}

/** What costs extra: a credit and its withdrawal, a score that had to be repeated. */
async function measureTroubles(setup: GasSetup): Promise<Record<string, number>> {
  const { connection, contracts, wallets, addresses, steps } = setup;
  const { escrow, score } = contracts;
  const { provider } = connection;
  const gas: Record<string, number> = {};

  const scoreAddress = await score.getAddress();
  const scoreCode: unknown = await provider.request({ method: "eth_getCode", params: [scoreAddress, "latest"] });
  const unscored = await steps.delivered();
  await provider.request({ method: "hardhat_setCode", params: [scoreAddress, "0xfe"] });
  await escrow.connect(wallets.buyer).accept(unscored);
  await provider.request({ method: "hardhat_setCode", params: [scoreAddress, scoreCode] });
  gas["retryScore"] = await used(escrow.connect(wallets.relayer).retryScore(unscored));

  const tokenCode: unknown = await provider.request({ method: "eth_getCode", params: [addresses.usdc, "latest"] });
  /** A delivery that the buyer accepts while the token refuses every transfer. */
  const credited = async () => {
    const refused = await steps.delivered();
    await provider.request({ method: "hardhat_setCode", params: [addresses.usdc, "0xfe"] });
    await escrow.connect(wallets.buyer).accept(refused);
    await provider.request({ method: "hardhat_setCode", params: [addresses.usdc, tokenCode] });
  };
  await credited();
  gas["withdraw"] = await used(escrow.connect(wallets.seller).withdraw(addresses.usdc));
  await credited();
  gas["withdrawTo"] = await used(escrow.connect(wallets.seller).withdrawTo(addresses.usdc, wallets.buyer.address));
  return gas;
}
