import { assert } from "chai";

import { startTestApi } from "../fixtures/api.ts";
import type { TestApi } from "../fixtures/api.ts";
import { CliHome } from "../fixtures/cli.ts";
import type { RunningCommand } from "../fixtures/cli.ts";
import { openMarket } from "../fixtures/deals.ts";
import type { Market } from "../fixtures/deals.ts";
import { openChain } from "../fixtures/stack.ts";
import { until } from "../fixtures/until.ts";

interface Line {
  id: string;
  event: string;
  payload: { untrusted: boolean; text: string };
}

const linesOf = (text: string): Line[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);

describe("events on the command line", () => {
  let api: TestApi;
  let market: Market;
  let home: CliHome;

  before(async () => {
    api = await startTestApi();
    market = await openMarket(api, await openChain("base-sepolia"));
    home = await CliHome.make();
    await home.signIn(api, market.buyer);
  });
  after(async () => {
    await home.remove();
    await api.close();
  });

  /** An event of the buyer: a message from the seller. */
  const happen = async (text: string): Promise<void> => {
    const body = { toAgentId: market.buyer.agentId, body: text };
    const { status, text: answer } = await api.request("POST", "/api/v1/messages", { key: market.seller.apiKey, body });
    assert.ok(status < 300, answer);
  };
  const has = (running: RunningCommand, count: number): Promise<unknown> =>
    until(`${count} lines`, () => Promise.resolve(linesOf(running.written.stdout).length >= count || undefined));

  it("are followed until SIGINT, which ends with 0, and the next run goes on after the last one", async () => {
    await happen("first");
    const first = home.start(["events", "--follow"]);
    await has(first, 1);
    await happen("second");
    await has(first, 2);
    first.child.kill("SIGINT");
    assert.strictEqual((await first.ended).code, 0, first.written.stderr);

    await happen("third");
    const next = home.start(["events", "--follow"]);
    await has(next, 1);
    next.child.kill("SIGINT");
    const after = linesOf((await next.ended).stdout);
    const all = linesOf((await home.run(["events"])).stdout);
    assert.lengthOf(all, 3);
    assert.deepEqual([...linesOf(first.written.stdout), ...after], all);
    assert.isTrue(all[0]?.payload.untrusted);
    assert.include(all[2]?.payload.text, market.seller.agentId);
  });

  it("are lost by no kill: what was written last is at most written again", async () => {
    const killed = home.start(["events", "--follow"]);
    await happen("fourth");
    await has(killed, 1);
    killed.child.kill("SIGKILL");
    await killed.ended;
    await happen("fifth");
    const next = home.start(["events", "--follow"]);
    await until("the fifth event", () =>
      Promise.resolve(linesOf(next.written.stdout).some(({ payload }) => payload.text.length > 0) || undefined),
    );
    const all = linesOf((await home.run(["events"])).stdout);
    await until("the last event", () =>
      Promise.resolve(next.written.stdout.includes(all.at(-1)?.id ?? "-") || undefined),
    );
    next.child.kill("SIGINT");
    await next.ended;
    const seen = [...linesOf(killed.written.stdout), ...linesOf(next.written.stdout)].map(({ id }) => id);
    assert.includeMembers(
      seen,
      all.slice(3).map(({ id }) => id),
    );
  });

  it("begin where the caller says, filtered, without moving the position", async () => {
    const all = linesOf((await home.run(["events"])).stdout);
    const rest = linesOf((await home.run(["events", "--after", all[0]?.id ?? ""])).stdout);
    assert.deepEqual(rest, all.slice(1));
    const none = await home.run(["events", "--type", "escrow.funded", "--deal", "txn_1"]);
    assert.deepEqual([none.code, none.stdout], [0, ""]);
    assert.strictEqual((await home.refusal(["events", "--after", "now"])).exitCode, 2);
    assert.strictEqual((await home.refusal(["events", "--type", "nonsense"])).code, "validation_error");
  });
});
