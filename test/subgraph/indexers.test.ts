import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { assert } from "chai";
import { keccak256, stringToHex } from "viem";
import type { PrivateKeyAccount } from "viem";

import { ROOT } from "../../scripts/local/paths.ts";
import { findFreePorts } from "../../scripts/local/ports.ts";
import { startStack } from "../../scripts/local/stack.ts";
import type { Stack } from "../../scripts/local/stack.ts";
import { PORTS_PER_STACK, stackPorts } from "../../scripts/local/stack-ports.ts";
import { Marketplace } from "./support/marketplace.ts";
import type { CreatedEscrow } from "./support/marketplace.ts";
import { readQueries } from "./support/readme-queries.ts";

const RATIONALE = keccak256(stringToHex("The delivery does what was asked."));
const MICROSECONDS = 1_000_000n;

type Answer = Readonly<Record<string, unknown>>;
interface CommandResult {
  readonly code: number;
  readonly output: string;
}

/** Runs the command that deploys the subgraph. */
async function deploy(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<CommandResult> {
  const script = join(ROOT, "scripts", "local", "deploy-subgraph.ts");
  return await new Promise((resolve) => {
    const options = { cwd: ROOT, env: { ...process.env, GRAPH_DEPLOY_KEY: "", ...env } };
    execFile(process.execPath, [script, ...args], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr });
    });
  });
}

// The answers are those of one history on a stack that nobody else uses.
describe("what the README tells indexers", () => {
  const queries = readQueries();
  const portsFrom = findFreePorts(PORTS_PER_STACK);
  let dir: string;
  let stack: Stack;
  let market: Marketplace;
  let buyer: PrivateKeyAccount;
  let seller: PrivateKeyAccount;
  let released: CreatedEscrow;
  let open: CreatedEscrow;
  let delivered: CreatedEscrow;
  let disputed: CreatedEscrow;
  let hour: string;

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), "marketplace-indexers-"));
    stack = await startStack({ dir, portBase: await portsFrom, only: ["graph"], disposable: true });
    market = new Marketplace(stack.facts, "base-sepolia");
    [buyer, seller] = [await market.newParty(), await market.newParty()];
    // All within one hour, which is far from its end.
    await market.passTime(3_600 - ((await market.timeOf()) % 3_600) + 1);
    const now = await market.timeOf();
    hour = String(BigInt(now - (now % 3_600)) * MICROSECONDS);
    await market.confirmed(market.escrowAs(seller).write.setSellerTerms([1_000_000n, 600, false]));
    released = await market.createDelivered(buyer, seller);
    await market.confirmed(market.escrowAs(buyer).write.accept([released.id]));
    open = await market.createEscrow(buyer, seller, { amount: 2_000_000n });
    delivered = await market.createDelivered(buyer, seller, { amount: 3_000_000n });
    disputed = await market.createDisputed(buyer, seller);
    const system = market.resolverAs(market.role("systemResolver"));
    await market.confirmed(system.write.resolveBySystem([disputed.id, 1, RATIONALE]));
  });
  after(async () => {
    await stack.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  /** The answer to a query of the README. */
  async function ask(name: string, variables: Record<string, unknown> = {}): Promise<Answer> {
    const text = queries.get(name);
    if (text === undefined) throw new Error(`the README has no query ${name}`);
    return await market.query<Answer>(text, variables, await market.client.getBlockNumber());
  }
  const lower = ({ address }: { address: string }): string => address.toLowerCase();

  it("there are ten queries", () => {
    assert.deepEqual(
      [...queries.keys()],
      [
        ...["Escrow", "OpenWork", "Deliveries", "Moves", "Trust"],
        ...["Disputes", "Hours", "AgentDays", "Money", "Administration"],
      ],
    );
  });

  it("1: an escrow with its moves", async () => {
    const { escrow } = (await ask("Escrow", { id: released.id })) as { escrow: Answer & { events: Answer[] } };
    const { events, ...fields } = escrow;
    assert.deepEqual(fields, {
      state: "Released",
      buyer: { id: lower(buyer) },
      seller: { id: lower(seller) },
      token: { symbol: "USDC", decimals: 6 },
      amount: "5000000",
      fee: "100000",
      sellerAmount: "4900000",
    });
    assert.deepEqual(
      events.map(({ type }) => type),
      ["EscrowCreated", "DeliverySubmitted", "EscrowReleased"],
    );
    assert.strictEqual(events[0]?.["txHash"], released.receipt.transactionHash);
  });

  it("2 and 3: what a seller has to deliver, and deliveries that wait", async () => {
    assert.deepEqual(await ask("OpenWork", { seller: lower(seller) }), {
      escrows: [
        {
          id: open.id,
          deadline: String(open.deadline),
          criteriaHash: open.criteriaHash,
          valueUsd: "2000000",
        },
      ],
    });
    const before = String((await market.timeOf()) + 1);
    const { escrows } = (await ask("Deliveries", { before })) as { escrows: Answer[] };
    assert.deepEqual(
      escrows.map(({ id, disputeWindow }) => ({ id, disputeWindow })),
      [{ id: delivered.id, disputeWindow: "300" }],
    );
    const { escrows: none } = await ask("Deliveries", { before: String(escrows[0]?.["deliveredAt"]) });
    assert.deepEqual(none, []);
  });

  it("4: everything since a position, page by page", async () => {
    const { escrowEvents: all, _meta } = (await ask("Moves", { after: "0" })) as {
      escrowEvents: Answer[];
      _meta: { block: { hash: string | null } };
    };
    assert.ok(_meta.block.hash !== null);
    assert.strictEqual(all.length, 10);
    const { escrowEvents: rest } = await ask("Moves", { after: all[2]?.["ordinal"] });
    assert.deepEqual(rest, all.slice(3));
    for (const { blockNumber, blockHash } of all) {
      const block = await market.client.getBlock({ blockNumber: BigInt(blockNumber as string) });
      assert.strictEqual(blockHash, block.hash);
    }
  });

  it("5: whether to trade with an agent", async () => {
    assert.deepEqual(await ask("Trust", { agent: lower(seller) }), {
      agent: {
        score: "2",
        settledCount: 1,
        distinctCounterparties: 1,
        topCounterpartyCount: 1,
        disputesWon: 1,
        disputesLost: 0,
        lateDeclines: 0,
        scoreChanges: [
          { outcome: "SellerPaid", delta: "1", score: "2" },
          { outcome: "Released", delta: "1", score: "1" },
        ],
      },
      sellerTerms: { minAmountUsd: "1000000", minDeliverySeconds: "600", paused: false },
    });
  });

  it("6: disputes", async () => {
    const { disputes } = (await ask("Disputes")) as { disputes: Answer[] };
    assert.strictEqual(disputes.length, 1);
    const { openedAt, resolvedAt, ...fields } = disputes[0] ?? {};
    assert.isAtLeast(Number(resolvedAt), Number(openedAt));
    assert.deepEqual(fields, {
      escrow: { id: disputed.id, valueUsd: "5000000" },
      outcome: "SellerPaid",
      buyerPercent: 0,
      resolutionMethod: "Ruling",
      rationaleHash: RATIONALE,
      submitter: lower(market.role("systemResolver")),
    });
  });

  it("7 and 8: the network by hour, an agent by day", async () => {
    assert.deepEqual(await ask("Hours", { since: hour }), {
      networkVolumes: [
        { timestamp: hour, created: "4", released: "1", disputed: "1", settledUsd: "10000000", feeUsd: "300000" },
      ],
    });
    const timestamp = String(BigInt(hour) - (BigInt(hour) % (86_400n * MICROSECONDS)));
    assert.deepEqual(await ask("AgentDays", { agent: lower(seller) }), {
      sellerVolumes: [{ timestamp, created: "4", settledUsd: "10000000" }],
      agentScores: [{ timestamp, delta: "2", score: "2" }],
    });
  });

  it("9 and 10: money, and who runs the contracts", async () => {
    const treasury = lower(market.role("treasury"));
    assert.deepEqual(await ask("Money"), {
      tokens: [
        {
          symbol: "USDC",
          deposited: "15000000",
          locked: "4900000",
          paid: "9800000",
          returned: "0",
          credited: "0",
          treasuries: [{ treasury, fees: "300000" }],
        },
      ],
      credits: [],
      scoreFailures: [],
    });
    const { configuration, contracts, administrationEvents } = (await ask("Administration", {
      network: "base-sepolia",
    })) as { configuration: Answer; contracts: Answer[]; administrationEvents: Answer[] };
    assert.deepInclude(configuration, { treasury, paused: false, rulingsPaused: false });
    assert.sameMembers(
      contracts.map(({ name }) => name),
      ["EscrowV2", "ScoreV2", "ResolverV2"],
    );
    assert.deepInclude(administrationEvents.at(-1), {
      type: "Upgraded",
      contract: { name: "ScoreV2" },
      previous: null,
    });
  });

  describe("subgraph:deploy", () => {
    const target = () => ["--network", "base-sepolia", "--deployment", stack.facts.deployments["base-sepolia"] ?? ""];
    const adminUrl = async () => `http://127.0.0.1:${stackPorts(await portsFrom).graph["base-sepolia"].admin}`;

    it("deploys to a graph-node that reads files, where the copy answers as the original does", async () => {
      const name = "marketplace/copy";
      const args = [...target(), "--node", await adminUrl(), "--name", name];
      const { code, output } = await deploy(args);
      assert.strictEqual(code, 0, output);
      const url = /^Queries: (\S+)$/m.exec(output)?.[1] ?? "";
      assert.match(url, new RegExp(`^http://127\\.0\\.0\\.1:\\d+/subgraphs/name/${name}$`));
      const copy = new Marketplace(
        {
          ...stack.facts,
          networks: { "base-sepolia": { ...requireNetwork(stack), subgraphUrl: url } },
        },
        "base-sepolia",
      );
      const block = await market.client.getBlockNumber();
      const text = "{ escrows(orderBy: createdBlock) { id state sellerAmount } }";
      assert.deepEqual(await copy.query(text, {}, block), await market.query(text, {}, block));
      assert.strictEqual((await deploy(args)).code, 0, "deploying again does no harm");
    });

    it("says what is wrong with its arguments", async () => {
      const node = await adminUrl();
      const cases: [readonly string[], RegExp][] = [
        [["--node", node], /--network must be one of/],
        [["--network", "mainnet", "--node", node], /--network must be one of/],
        [target(), /either --node URL or --studio/],
        [[...target(), "--node", node, "--studio"], /either --node URL or --studio/],
        [[...target(), "--node", "localhost:8020"], /--node must be an http or https URL, not "localhost:8020"/],
        [[...target(), "--node", node, "--ipfs", "ipfs"], /--ipfs must be an http or https URL/],
        [[...target(), "--studio"], /--studio needs --name/],
      ];
      for (const [args, text] of cases) {
        const { code, output } = await deploy(args);
        assert.deepEqual([code, text.test(output)], [2, true], output);
      }
      const help = await deploy(["--help"]);
      assert.deepEqual([help.code, help.output.includes("usage: npm run subgraph:deploy")], [0, true]);
    });

    it("says what is missing, and never shows the deploy key", async () => {
      const key = "a-deploy-key-of-nobody";
      const missing = join(dir, "nowhere.json");
      const other = ["--network", "base", "--deployment", stack.facts.deployments["base-sepolia"] ?? ""];
      const cases: [readonly string[], RegExp, Record<string, string>?][] = [
        [
          ["--network", "base", "--deployment", missing, "--node", "http://127.0.0.1:9"],
          /nowhere\.json does not exist/,
        ],
        [[...other, "--node", "http://127.0.0.1:9"], /is a deployment on base-sepolia, not on base/],
        [[...target(), "--studio", "--name", "slug"], /GRAPH_DEPLOY_KEY is not set/],
        [
          [...target(), "--node", "http://127.0.0.1:9"],
          /http:\/\/127\.0\.0\.1:9 can't be reached/,
          { GRAPH_DEPLOY_KEY: key },
        ],
      ];
      for (const [args, text, env] of cases) {
        const { code, output } = await deploy(args, env);
        assert.deepEqual([code, text.test(output), output.includes(key)], [1, true, false], output);
      }
    });

    it("says when the address isn't a graph-node's admin port, and when graph-node refuses", async () => {
      const server = createServer((_request, response) => response.writeHead(404).end("Nothing here"));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as AddressInfo;
      const wrong = await deploy([...target(), "--node", `http://127.0.0.1:${port}`]);
      server.close();
      assert.strictEqual(wrong.code, 1);
      assert.match(wrong.output, /answers 404 and no JSON-RPC: is it a graph-node's admin port\? Nothing here/);
      const refused = await deploy([...target(), "--node", await adminUrl(), "--name", "no good name"]);
      assert.strictEqual(refused.code, 1);
      assert.match(refused.output, /refuses subgraph_create/);
    });
  });
});

function requireNetwork({ facts }: Stack) {
  const network = facts.networks["base-sepolia"];
  if (network === undefined) throw new Error("the stack has no base-sepolia");
  return network;
}
