import { assert } from "chai";
import { concat, keccak256, parseAbi, stringToHex, zeroHash } from "viem";
import type { Account, Address, Hex, TransactionReceipt } from "viem";

import type { Marketplace } from "./support/marketplace.ts";
import { ownStack } from "./support/own-stack.ts";
import { readAgent } from "./support/records.ts";

const RATIONALE = keccak256(stringToHex("The delivery does what was asked."));
const FAR_DEADLINE = 10n ** 11n;
const denyListAbi = parseAbi([
  "function blacklist(address account)",
  "function unBlacklist(address account)",
  "function balanceOf(address account) view returns (uint256)",
]);
const REVERTING_CODE = "0x60006000fd";

interface CreditRecord {
  readonly balance: string;
  readonly credited: string;
  readonly withdrawn: string;
  readonly events: readonly {
    readonly type: string;
    readonly amount: string;
    readonly escrowId: string | null;
    readonly recipient: string | null;
    readonly txHash: string;
  }[];
}

// One of these tests breaks the score contract for a while, so they start a stack of their own.
describe("the subgraph follows disputes, credits, failed scores and sellers' terms", () => {
  const stack = ownStack();
  let market: Marketplace;
  before(() => {
    ({ market } = stack);
  });

  const parties = async () => [await market.newParty(), await market.newParty()] as const;
  const lower = ({ address }: { address: string }): string => address.toLowerCase();

  async function dispute(id: Hex, { blockNumber }: TransactionReceipt): Promise<Readonly<Record<string, unknown>>> {
    const query = `query ($id: ID!) { escrow(id: $id) { dispute { buyer { id } openedAt openedTxHash resolvedAt
      resolvedTxHash outcome buyerPercent buyerAmount sellerAmount resolvedBy resolutionMethod rationaleHash submitter } } }`;
    interface Answer {
      escrow: { dispute: Readonly<Record<string, unknown>> };
    }
    return (await market.query<Answer>(query, { id }, blockNumber)).escrow.dispute;
  }

  it("[D8] a dispute has its opening and, once it is over, its end", async () => {
    const [buyer, seller] = await parties();
    const { id } = await market.createDelivered(buyer, seller);
    const opened = await market.confirmed(market.escrowAs(buyer).write.openDispute([id]));
    const opening = {
      buyer: { id: lower(buyer) },
      openedAt: String(await market.timeOf(opened.blockNumber)),
      openedTxHash: opened.transactionHash,
    };
    const none = { outcome: null, buyerPercent: null, buyerAmount: null, sellerAmount: null, resolvedBy: null };
    assert.deepEqual(await dispute(id, opened), {
      ...opening,
      ...none,
      resolvedAt: null,
      resolvedTxHash: null,
      resolutionMethod: null,
      rationaleHash: null,
      submitter: null,
    });
    const system = market.role("systemResolver");
    const ruled = await market.confirmed(market.resolverAs(system).write.resolveBySystem([id, 1, RATIONALE]));
    assert.deepEqual(await dispute(id, ruled), {
      ...opening,
      resolvedAt: String(await market.timeOf(ruled.blockNumber)),
      resolvedTxHash: ruled.transactionHash,
      outcome: "SellerPaid",
      buyerPercent: 0,
      buyerAmount: "0",
      sellerAmount: "4900000",
      resolvedBy: "System",
      resolutionMethod: "Ruling",
      rationaleHash: RATIONALE,
      submitter: lower(system),
    });
  });

  it("[D8] an agreement has its submitter and no rationale", async () => {
    const [buyer, seller] = await parties();
    const relayer = await market.newParty();
    const { id } = await market.createDisputed(buyer, seller);
    const resolver = market.resolverAs(relayer);
    const hash = await resolver.read.agreementDigest([id, 40n, FAR_DEADLINE]);
    const signatures = [await buyer.sign({ hash }), await seller.sign({ hash })] as const;
    const agreed = await market.confirmed(resolver.write.resolveByAgreement([id, 40n, FAR_DEADLINE, signatures]));
    assert.deepInclude(await dispute(id, agreed), {
      outcome: "Split",
      buyerPercent: 40,
      buyerAmount: "1960000",
      sellerAmount: "2940000",
      resolutionMethod: "Agreement",
      rationaleHash: zeroHash,
      submitter: lower(relayer),
    });
  });

  it("[D9] a payout that the token refuses is a credit until it is withdrawn, as the escrow contract has it", async () => {
    const [buyer, seller] = await parties();
    const friend = await market.newParty();
    const first = await market.createDelivered(buyer, seller);
    const second = await market.createDelivered(buyer, seller, { amount: 2_000_000n });
    await setDenied(seller, true);
    const one = await market.confirmed(market.escrowAs(buyer).write.accept([first.id]));
    const other = await market.confirmed(market.escrowAs(buyer).write.accept([second.id]));
    const credited = await readCredit(seller, other);
    assert.deepEqual(credited, {
      balance: "6860000",
      credited: "6860000",
      withdrawn: "0",
      events: [
        { type: "PayoutCredited", amount: "4900000", escrowId: first.id, recipient: null, txHash: one.transactionHash },
        {
          type: "PayoutCredited",
          amount: "1960000",
          escrowId: second.id,
          recipient: null,
          txHash: other.transactionHash,
        },
      ],
    });
    await assertHoldings(other);
    const drawn = await market.confirmed(market.escrowAs(seller).write.withdrawTo([market.usdc, friend.address]));
    const { events, ...sums } = await readCredit(seller, drawn);
    assert.deepEqual(sums, { balance: "0", credited: "6860000", withdrawn: "6860000" });
    assert.deepEqual(events.at(-1), {
      type: "CreditWithdrawn",
      amount: "6860000",
      escrowId: null,
      recipient: lower(friend),
      txHash: drawn.transactionHash,
    });
    await assertHoldings(drawn);
  });

  it("[D9] a fee that the treasury cannot take is its credit, although its escrow is only being created", async () => {
    const [buyer, seller] = await parties();
    const treasury = market.role("treasury");
    await setDenied(treasury, true);
    const created = await market.createEscrow(buyer, seller, { amount: 3_000_000n });
    await setDenied(treasury, false);
    const { events, ...sums } = await readCredit(treasury, created.receipt);
    assert.deepEqual(sums, { balance: "60000", credited: "60000", withdrawn: "0" });
    assert.deepEqual(events[0]?.escrowId, created.id);
    await assertHoldings(created.receipt);
  });

  it("[D9] a failed score update is outstanding until a retry succeeds", async () => {
    const [buyer, seller] = await parties();
    const { id } = await market.createDelivered(buyer, seller);
    const code = await market.client.getCode({ address: market.score });
    assert.ok(code !== undefined);
    await market.client.setCode({ address: market.score, bytecode: REVERTING_CODE });
    const accepted = await market.confirmed(market.escrowAs(buyer).write.accept([id]));
    await market.client.setCode({ address: market.score, bytecode: code });
    const query = `query ($id: ID!) { escrow(id: $id) { state scoreFailure { outcome failedAt failedTxHash retriedAt
      retriedTxHash } } }`;
    const failure = {
      outcome: "Released",
      failedAt: String(await market.timeOf(accepted.blockNumber)),
      failedTxHash: accepted.transactionHash,
    };
    assert.deepEqual(await market.query(query, { id }, accepted.blockNumber), {
      escrow: { state: "Released", scoreFailure: { ...failure, retriedAt: null, retriedTxHash: null } },
    });
    assert.strictEqual((await readAgent(market, seller, accepted.blockNumber)).score, "0");

    const retried = await market.confirmed(market.escrowAs(seller).write.retryScore([id]));
    const at = String(await market.timeOf(retried.blockNumber));
    assert.deepEqual(await market.query(query, { id }, retried.blockNumber), {
      escrow: {
        state: "Released",
        scoreFailure: { ...failure, retriedAt: at, retriedTxHash: retried.transactionHash },
      },
    });
    assert.strictEqual((await readAgent(market, seller, retried.blockNumber)).score, "1");
  });

  it("[D10] a seller's terms and each change of them are known, without making it an agent", async () => {
    const seller = await market.newParty();
    await market.confirmed(market.escrowAs(seller).write.setSellerTerms([5_000_000n, 3_600, false]));
    const changed = await market.confirmed(market.escrowAs(seller).write.setSellerTerms([2n ** 64n - 1n, 0, true]));
    const query = `query ($id: ID!) { agent(id: $id) { id } sellerTerms(id: $id) { minAmountUsd minDeliverySeconds
      paused changes(orderBy: ordinal) { minAmountUsd minDeliverySeconds paused } } }`;
    const now = { minAmountUsd: "18446744073709551615", minDeliverySeconds: "0", paused: true };
    assert.deepEqual(await market.query(query, { id: lower(seller) }, changed.blockNumber), {
      agent: null,
      sellerTerms: {
        ...now,
        changes: [{ minAmountUsd: "5000000", minDeliverySeconds: "3600", paused: false }, now],
      },
    });
  });

  /** Puts an account on the token's deny list or takes it off. */
  async function setDenied({ address }: Account, denied: boolean): Promise<void> {
    const usdc = market.contractAs(market.role("owner"), market.usdc, denyListAbi);
    await market.confirmed(denied ? usdc.write.blacklist([address]) : usdc.write.unBlacklist([address]));
  }

  /** Reads an account's credit in USDC, whose balance must be the escrow contract's. */
  async function readCredit({ address }: Account, { blockNumber }: TransactionReceipt): Promise<CreditRecord> {
    const id = concat([address.toLowerCase() as Address, market.usdc.toLowerCase() as Address]);
    const query = `query ($id: ID!) { credit(id: $id) { balance credited withdrawn
      events(orderBy: ordinal) { type amount escrowId recipient txHash } } }`;
    const { credit } = await market.query<{ credit: CreditRecord }>(query, { id }, blockNumber);
    const reader = market.escrowAs(market.role("owner"));
    const onChain = await reader.read.creditOf([address, market.usdc], { blockNumber });
    assert.strictEqual(credit.balance, String(onChain));
    return credit;
  }

  /** The escrow contract holds what is locked and what is credited. */
  async function assertHoldings({ blockNumber }: TransactionReceipt): Promise<void> {
    const query = `{ token(id: "${market.usdc.toLowerCase()}") { locked credited } }`;
    interface Answer {
      token: { locked: string; credited: string };
    }
    const { token } = await market.query<Answer>(query, {}, blockNumber);
    const usdc = market.contractAs(market.role("owner"), market.usdc, denyListAbi);
    const held = await usdc.read.balanceOf([market.escrow], { blockNumber });
    assert.strictEqual(BigInt(token.locked) + BigInt(token.credited), held);
  }
});
