import { assert } from "chai";
import { keccak256, parseEther, stringToHex } from "viem";
import type { Address } from "viem";

import { Marketplace } from "./support/marketplace.ts";
import { ownStack } from "./support/own-stack.ts";

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 86_400;
const MICROSECONDS = 1_000_000n;
const RATIONALE = keccak256(stringToHex("A part of it does what was asked."));
const SPLIT = 2;

type Row = Readonly<Record<string, unknown>>;
const FIELDS = `timestamp created released refunded abandoned disputed resolved depositedUsd feeUsd settledUsd`;
/** A row in which nothing happened, but for the time. */
const NOTHING = {
  created: "0",
  released: "0",
  refunded: "0",
  abandoned: "0",
  disputed: "0",
  resolved: "0",
  depositedUsd: "0",
  feeUsd: "0",
  settledUsd: "0",
};

// These tests move the chain's clock and roll it back, so they start a stack of their own.
describe("the subgraph's hourly and daily series", () => {
  const stack = ownStack();
  let market: Marketplace;
  before(() => {
    ({ market } = stack);
  });

  const parties = async () => [await market.newParty(), await market.newParty()] as const;
  /** Moves the clock into the next hour and returns its start as a Timestamp. */
  async function nextHour(of = market): Promise<string> {
    const now = await of.timeOf();
    await of.passTime(HOUR_SECONDS - (now % HOUR_SECONDS) + 1);
    const started = await of.timeOf();
    return String(BigInt(started - (started % HOUR_SECONDS)) * MICROSECONDS);
  }
  /** The rows of a series since a Timestamp, those of the present interval included, oldest first. */
  async function rows(
    series: string,
    fields: string,
    {
      since,
      where = "",
      interval = "hour",
      of = market,
    }: Partial<Record<"since" | "where" | "interval", string>> & {
      of?: Marketplace;
    },
  ): Promise<readonly Row[]> {
    const filter = `where: { timestamp_gte: "${since ?? "0"}" ${where} }`;
    const order = `orderBy: timestamp, orderDirection: asc`;
    const query = `{ rows: ${series}(interval: ${interval}, current: include, ${filter}, ${order}) { ${fields} } }`;
    const answer = await of.query<{ rows: readonly Row[] }>(query, {}, await of.client.getBlockNumber());
    return answer.rows;
  }

  it("[D30] add up what the network created and settled, however it ended", async () => {
    const [buyer, seller] = await parties();
    const first = await nextHour();
    await market.createReleased(buyer, seller, { amount: 5_000_001n });
    const declined = await market.createEscrow(buyer, seller, { amount: 3_000_000n });
    await market.confirmed(market.escrowAs(seller).write.refund([declined.id]));
    const abandoned = await market.createEscrow(buyer, seller, { amount: 2_000_000n });
    const split = await market.createDisputed(buyer, seller);
    const admin = market.resolverAs(market.role("adminResolver"));
    await market.confirmed(admin.write.resolveByAdmin([split.id, SPLIT, 30n, 70n, RATIONALE]));
    assert.deepEqual(await rows("networkVolumes", FIELDS, { since: first }), [
      {
        ...NOTHING,
        timestamp: first,
        created: "4",
        released: "1",
        refunded: "1",
        disputed: "1",
        resolved: "1",
        depositedUsd: "15000001",
        feeUsd: "300001",
        settledUsd: "8500001",
      },
    ]);

    await market.passTime(DAY_SECONDS + HOUR_SECONDS);
    const second = await nextHour();
    await market.confirmed(market.escrowAs(buyer).write.claimAbandoned([abandoned.id]));
    assert.deepEqual(
      (await rows("networkVolumes", FIELDS, { since: first })).slice(1),
      [{ ...NOTHING, timestamp: second, abandoned: "1" }],
      "an hour in which nothing happened has no row, and what is over stays as it was",
    );
    const day = BigInt(first) - (BigInt(first) % (BigInt(DAY_SECONDS) * MICROSECONDS));
    const days = await rows("networkVolumes", FIELDS, { since: String(day), interval: "day" });
    assert.deepInclude(days.at(0), { timestamp: String(day), refunded: "1", resolved: "1", settledUsd: "8500001" });
    assert.deepInclude(days.at(-1), { abandoned: "1", settledUsd: "0" });
    assert.strictEqual(days.length, 2);
  });

  it("answer for a present interval in which nothing has happened", async () => {
    const [buyer, seller] = await parties();
    await market.createReleased(buyer, seller);
    const quiet = await nextHour();
    for (const series of ["networkVolumes", "tokenVolumes", "sellerVolumes", "buyerVolumes"]) {
      assert.deepEqual(await rows(series, FIELDS, { since: quiet }), [], series);
    }
    for (const series of ["agentScores", "networkScores"]) {
      assert.deepEqual(await rows(series, "timestamp delta", { since: quiet }), [], series);
    }
  });

  it("[D30] tell what an agent sold, what it bought and how its score changed", async () => {
    const [first, second] = await parties();
    const other = await market.newParty();
    const hour = await nextHour();
    await market.createReleased(first, second, { amount: 4_000_000n });
    await market.createReleased(second, first, { amount: 3_000_000n });
    await market.createReleased(second, other, { amount: 2_000_000n });
    const id = second.address.toLowerCase();
    const fields = "timestamp created released settledUsd";
    assert.deepEqual(await rows("sellerVolumes", fields, { where: `seller: "${id}"` }), [
      { timestamp: hour, created: "1", released: "1", settledUsd: "4000000" },
    ]);
    assert.deepEqual(await rows("buyerVolumes", fields, { where: `buyer: "${id}"` }), [
      { timestamp: hour, created: "2", released: "2", settledUsd: "5000000" },
    ]);
    const next = await nextHour();
    const disputed = await market.createDisputed(second, first);
    const system = market.resolverAs(market.role("systemResolver"));
    await market.confirmed(system.write.resolveBySystem([disputed.id, 1, RATIONALE]));
    assert.deepEqual(await rows("agentScores", "timestamp changes delta score", { where: `agent: "${id}"` }), [
      { timestamp: hour, changes: "3", delta: "3", score: "3" },
      { timestamp: next, changes: "1", delta: "-3", score: "0" },
    ]);
    assert.deepEqual(await rows("networkScores", "timestamp changes delta", { since: hour }), [
      { timestamp: hour, changes: "6", delta: "6" },
      { timestamp: next, changes: "2", delta: "-2" },
    ]);
  });

  it("keep the units of each token apart", async () => {
    const mainnet = new Marketplace(stack.facts, "base");
    const [buyer, seller] = [await mainnet.newParty(), await mainnet.newParty()];
    const weth = mainnet.tokens["WETH"] as Address;
    const amount = parseEther("0.002");
    const wrapped = mainnet.tokenAs(buyer, weth);
    await mainnet.confirmed(wrapped.write.deposit({ value: amount }));
    await mainnet.confirmed(wrapped.write.approve([mainnet.escrow, amount]));
    // The chain makes a block each second, and the hour that holds these deals may end between them.
    const start = await nextHour(mainnet);
    await mainnet.createReleased(buyer, seller, { amount: 1_000_000n });
    const ether = await mainnet.createEscrow(buyer, seller, { token: weth, amount });
    await mainnet.confirmed(mainnet.escrowAs(seller).write.refund([ether.id]));
    const fields = "token { symbol } created deposited fee paid returned depositedUsd settledUsd";
    const found = await rows("tokenVolumes", fields, { since: start, of: mainnet });
    assert.sameDeepMembers(
      [...found],
      [
        {
          token: { symbol: "USDC" },
          created: "1",
          deposited: "1000000",
          fee: "20000",
          paid: "980000",
          returned: "0",
          depositedUsd: "1000000",
          settledUsd: "1000000",
        },
        {
          token: { symbol: "WETH" },
          created: "1",

          deposited: String(amount),
          fee: String(amount / 50n),
          paid: "0",
          returned: String((amount * 49n) / 50n),
          // The local feed says $2,500.
          depositedUsd: "5000000",
          settledUsd: "0",
        },
      ],
    );
  });

  it("forget what a reorganisation removed, even from an hour that was over", async () => {
    const [buyer, seller] = await parties();
    const first = await nextHour();
    await market.createReleased(buyer, seller, { amount: 2_000_000n });
    const terms = { amount: 3_000_000n, disputeWindow: BigInt(DAY_SECONDS) };
    const delivered = await market.createDelivered(buyer, seller, terms);
    const acceptance = await market.confirmed(market.escrowAs(buyer).write.accept([delivered.id]));
    const second = await nextHour();
    await market.createEscrow(buyer, seller, { amount: 1_000_000n });
    const counted = async () => {
      const found = await rows("networkVolumes", "timestamp created released settledUsd", { since: first });
      return found.map(({ timestamp, created, released, settledUsd }) => [timestamp, created, released, settledUsd]);
    };
    assert.deepEqual(await counted(), [
      [first, "2", "2", "5000000"],
      [second, "1", "0", "0"],
    ]);
    await market.takeBack(acceptance);
    assert.deepEqual(await counted(), [[first, "2", "1", "2000000"]]);

    const third = await nextHour();
    await market.confirmed(market.escrowAs(buyer).write.accept([delivered.id]));
    assert.deepEqual(await counted(), [
      [first, "2", "1", "2000000"],
      [third, "0", "1", "3000000"],
    ]);
    await nextHour();
    assert.deepEqual((await counted()).length, 2, "what is rolled up stays");
  });

  it("agree with the totals of the network", async () => {
    const query = `{
      protocol(id: "base-sepolia") {
        created funded delivered disputed released refunded resolved abandoned agents depositedUsd feeUsd settledUsd
      }
      escrows(first: 1000) { state valueUsd amount fee locked sellerAmount }
      agents(first: 1000) { id }
    }`;
    interface Answer {
      protocol: Record<string, string | number>;
      escrows: { state: string; valueUsd: string; amount: string; fee: string; locked: string; sellerAmount: string }[];
      agents: unknown[];
    }
    const { protocol, escrows, agents } = await market.query<Answer>(query, {}, await market.client.getBlockNumber());
    const inState = (state: string) => escrows.filter((escrow) => escrow.state === state).length;
    const sum = (valueOf: (escrow: Answer["escrows"][number]) => bigint) =>
      String(escrows.reduce((total, escrow) => total + valueOf(escrow), 0n));
    assert.isAbove(escrows.length, 10, "the tests above created some");
    assert.deepEqual(protocol, {
      created: escrows.length,
      funded: inState("Funded"),
      delivered: inState("Delivered"),
      disputed: inState("Disputed"),
      released: inState("Released"),
      refunded: inState("Refunded"),
      resolved: inState("Resolved"),
      abandoned: inState("Abandoned"),
      agents: agents.length,
      depositedUsd: sum(({ valueUsd }) => BigInt(valueUsd)),
      feeUsd: sum(({ valueUsd, fee, amount }) => (BigInt(valueUsd) * BigInt(fee)) / BigInt(amount)),
      settledUsd: sum(
        ({ valueUsd, sellerAmount, locked }) => (BigInt(valueUsd) * BigInt(sellerAmount)) / BigInt(locked),
      ),
    });
    const hours = await rows("networkVolumes", "created released settledUsd depositedUsd", {});
    const total = (field: string) => hours.reduce((so, hour) => so + BigInt(hour[field] as string), 0n);
    assert.deepEqual(
      [total("created"), total("released"), total("settledUsd"), total("depositedUsd")].map(String),
      [protocol["created"], protocol["released"], protocol["settledUsd"], protocol["depositedUsd"]].map(String),
    );
  });
});
