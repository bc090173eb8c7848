import { assert } from "chai";
import { concat, parseAbi } from "viem";
import type { Address, Hex } from "viem";

import { scoreAbi } from "../../api/chain/abis.ts";
import { campaignSize } from "../fixtures/nightly.ts";
import { seededRandom } from "../fixtures/random.ts";
import { History } from "./support/history.ts";
import type { Marketplace } from "./support/marketplace.ts";
import { littleEndian } from "./support/marketplace.ts";
import { ownStack } from "./support/own-stack.ts";

const PARTIES = 8;
/** Two to four new escrows a round. Answers hold up to 1,000 escrows. */
const ROUNDS = campaignSize({
  unit: "rounds of a random history",
  nightly: 300,
  eachPush: 60,
  variable: "HISTORY_ROUNDS",
});
const STATES = ["None", "Funded", "Delivered", "Released", "Refunded", "Disputed", "Resolved", "Abandoned"];
const RETRY_SCORE = 8;
const SYSTEM = 0;
const FOREVER = 2n ** 64n - 1n;
const balanceAbi = parseAbi(["function balanceOf(address account) view returns (uint256)"]);

interface Answer {
  readonly escrows: readonly (Readonly<Record<string, string | null>> & {
    readonly id: Hex;
    readonly buyer: { readonly id: string };
    readonly seller: { readonly id: string };
    readonly token: { readonly id: string };
    readonly dispute: { readonly openedAt: string; readonly resolvedAt: string | null } | null;
  })[];
  readonly agents: readonly { readonly id: Address; readonly score: string; readonly escrowsAsBuyer: number }[];
  readonly credits: readonly {
    readonly account: Address;
    readonly token: { readonly id: Address };
    readonly balance: string;
  }[];
  readonly scoreFailures: readonly { readonly id: string }[];
  readonly sellerTerms: readonly {
    readonly id: Address;
    readonly minAmountUsd: string;
    readonly minDeliverySeconds: string;
    readonly paused: boolean;
  }[];
  readonly resolverTenures: readonly { readonly id: Hex; readonly from: string; readonly until: string | null }[];
  readonly tokens: readonly {
    readonly id: Address;
    readonly locked: string;
    readonly credited: string;
    readonly created: number;
    readonly fees: string;
  }[];
  readonly treasuryFees: readonly {
    readonly treasury: string;
    readonly token: { readonly id: Address };
    readonly fees: string;
    readonly escrows: number;
  }[];
  readonly protocol: Readonly<Record<string, number>>;
  readonly configuration: { readonly treasury: string; readonly systemResolver: string };
}
const EVERYTHING = `{
  escrows(first: 1000) { id state buyer { id } seller { id } token { id } amount fee locked createdAt deadline deliveredAt disputedAt
    disputeWindow abandonmentGrace criteriaHash dispute { openedAt resolvedAt } }
  agents(first: 1000) { id score escrowsAsBuyer }
  credits(first: 1000) { account token { id } balance }
  scoreFailures(first: 1000, where: { retriedAt: null }) { id }
  sellerTerms: sellerTerms_collection(first: 1000) { id minAmountUsd minDeliverySeconds paused }
  resolverTenures(first: 1000, where: { role: System }) { id from until }
  tokens(first: 1000) { id locked credited created fees }
  treasuryFees: treasuryFees_collection(first: 1000) { treasury token { id } fees escrows }
  protocol(id: "base-sepolia") { created funded delivered disputed released refunded resolved abandoned }
  configuration(id: "base-sepolia") { treasury systemResolver }
}`;

// The history moves the chain's clock and rolls it back, so it has a stack of its own.
describe("after a random history, the subgraph is what the contracts say", () => {
  const stack = ownStack();
  let market: Marketplace;
  let history: History;
  before(async () => {
    ({ market } = stack);
    history = await History.open(market, seededRandom(), PARTIES);
  });

  const lower = (address: string): string => address.toLowerCase();
  const orNull = (seconds: bigint): string | null => (seconds === 0n ? null : String(seconds));

  /** Compares everything, and returns how many escrows are in which state. */
  async function assertEqual(): Promise<Answer["protocol"]> {
    const block = await market.client.getBlockNumber();
    const answer = await market.query<Answer>(EVERYTHING, {}, block);
    const owner = market.role("owner");
    const escrow = market.escrowAs(owner);
    const resolver = market.resolverAs(owner);

    const counts = new Map(STATES.slice(1).map((state) => [state.toLowerCase(), 0]));
    for (const { id, dispute, ...fields } of answer.escrows) {
      const record = await escrow.read.getEscrow([id]);
      const state = STATES[record.state] ?? "";
      counts.set(state.toLowerCase(), (counts.get(state.toLowerCase()) ?? 0) + 1);
      assert.deepEqual(
        { ...fields },
        {
          state,
          buyer: { id: lower(record.buyer) },
          seller: { id: lower(record.seller) },
          token: { id: lower(record.token) },
          amount: String(record.amount),
          fee: String(record.fee),
          locked: String(record.locked),
          createdAt: String(record.createdAt),
          deadline: String(record.deadline),
          deliveredAt: orNull(record.deliveredAt),
          disputedAt: orNull(record.disputedAt),
          disputeWindow: String(record.disputeWindow),
          abandonmentGrace: String(record.abandonmentGrace),
          criteriaHash: record.criteriaHash,
        },
        id,
      );
      assert.strictEqual(dispute?.openedAt ?? null, orNull(record.disputedAt));
      if (dispute !== null) assert.strictEqual(dispute.resolvedAt !== null, state === "Resolved");
      const actions = await escrow.read.nextActions([id]);
      const outstanding = answer.scoreFailures.some((failure) => failure.id === id);
      assert.strictEqual(
        outstanding,
        actions.some(({ action }) => action === RETRY_SCORE),
        `score of ${id}`,
      );
    }
    assert.deepEqual(answer.protocol, { created: answer.escrows.length, ...Object.fromEntries(counts) });

    const score = market.contractAs(owner, market.score, scoreAbi);
    for (const agent of answer.agents) {
      assert.strictEqual(agent.score, String(await score.read.scoreOf([agent.id])), agent.id);
      assert.strictEqual(agent.escrowsAsBuyer, answer.escrows.filter(({ buyer }) => buyer.id === agent.id).length);
    }
    for (const address of [market.usdc, history.hostile.address]) {
      const isOf = ({ token }: { readonly token: { readonly id: string } }) => token.id === lower(address);
      const token = answer.tokens.find(({ id }) => id === lower(address));
      assert.ok(token !== undefined);
      const credits = new Map(answer.credits.filter(isOf).map(({ account, balance }) => [account as string, balance]));
      for (const party of [...history.parties, ...history.treasuries]) {
        const onChain = await escrow.read.creditOf([party.address, address]);
        assert.strictEqual(credits.get(lower(party.address)) ?? "0", String(onChain), party.address);
      }
      const held = await market.contractAs(owner, address, balanceAbi).read.balanceOf([market.escrow]);
      assert.strictEqual(BigInt(token.locked) + BigInt(token.credited), held);
      assert.strictEqual(token.created, answer.escrows.filter(isOf).length);
      const fees = answer.treasuryFees.filter(isOf).reduce((sum, one) => sum + BigInt(one.fees), 0n);
      assert.strictEqual(String(fees), token.fees);
    }

    for (const terms of answer.sellerTerms) {
      const onChain = await escrow.read.sellerTerms([terms.id]);
      assert.deepEqual(
        [terms.minAmountUsd, terms.minDeliverySeconds, terms.paused],
        [String(onChain.minAmountUsd), String(onChain.minDeliverySeconds), onChain.paused],
      );
    }
    const tenures = new Map(answer.resolverTenures.map((tenure) => [tenure.id, tenure]));
    for (const { address } of history.rulers) {
      const onChain = await resolver.read.tenureOf([SYSTEM, address]);
      const tenure = tenures.get(concat([littleEndian(SYSTEM), lower(address) as Hex]));
      assert.deepEqual(
        [tenure?.from, tenure?.until ?? String(FOREVER)],
        [String(onChain.from), String(onChain.until)],
        address,
      );
    }
    assert.deepEqual(answer.configuration, {
      treasury: lower(await escrow.read.treasury()),
      systemResolver: lower(await resolver.read.resolverOf([SYSTEM])),
    });
    return answer.protocol;
  }

  it("in the middle of all moves", async () => {
    for (let round = 0; round < ROUNDS; round += 1) await history.playRound();
    await history.repairScore();
    const { created } = await assertEqual();
    assert.strictEqual(created, history.deals.length);
    assert.isAbove(history.deals.length, ROUNDS);
    assert.isNotEmpty(history.deals.filter(({ token }) => token === history.hostile.address));
    assert.isAbove(history.hostile.refusals, 0, "the token has refused deposits");
  });

  it("when time has ended what nobody moved", async () => {
    await history.playEnds();
    const { released, refunded, resolved, abandoned } = await assertEqual();
    assert.notInclude([released, refunded, resolved, abandoned], 0, "every ending has occurred");
  });

  it("when credits are withdrawn and failed scores retried", async () => {
    await history.claim();
    await assertEqual();
  });

  it("when a reorganisation has taken the latest moves back", async () => {
    assert.ok(history.last !== undefined);
    await market.takeBack(history.last);
    await assertEqual();
  });
});
