// `npm run without-api`: settles deals in every ending with wallets, contracts and subgraph alone (docs/api/without-the-api.md).
import { join } from "node:path";

import { createPublicClient, erc20Abi, http, parseAbi } from "viem";
import type { Hex } from "viem";

import { readArguments, refuseArguments } from "./command/arguments.ts";
import { freshWallet } from "./demo/chain.ts";
import { Narrator } from "./demo/narrator.ts";
import { readStackFacts } from "./demo/stack-facts.ts";
import type { NetworkFacts, StackFacts } from "./demo/stack-facts.ts";
import { BareDeal, PRICE } from "./without-api/deal.ts";
import type { Parties } from "./without-api/deal.ts";
import { ENDINGS } from "./without-api/endings.ts";
import type { Ending } from "./without-api/endings.ts";

const names = ENDINGS.map(({ name }) => name);
const HELP = `usage: npm run without-api -- [--ending NAME] [--network base-sepolia|base] [--stack FILE] [--json] [--help]

Settles deals between new wallets on the local stack without API, worker and MongoDB: \`npm start -- --only chains,graph\` is
enough. Moves the local chain's clock, by 30 days for the last ending.
${ENDINGS.map(({ name, title }) => `  ${name.padEnd(12)} ${title}`).join("\n")}
  --ending NAME    this ending alone; may be repeated (default: all)
  --network NAME   base-sepolia (default) or base
  --stack FILE     facts of the stack (default .local/stack.json)
  --json           print one JSON object at the end instead of the steps`;

const { values } = readArguments(HELP, {
  ending: { type: "string", multiple: true },
  network: { type: "string", default: "base-sepolia" },
  stack: { type: "string", default: join(".local", "stack.json") },
  json: { type: "boolean", default: false },
});
const unknown = values.ending?.find((name) => !names.includes(name));
if (unknown !== undefined) refuseArguments(`--ending: "${unknown}" is not one of ${names.join(", ")}`);
if (values.network !== "base-sepolia" && values.network !== "base") {
  refuseArguments(`--network: "${values.network}" is not one of base-sepolia, base`);
}
const network = values.network;
const chosen = ENDINGS.filter(({ name }) => values.ending?.includes(name) ?? true);

const scoreAbi = parseAbi(["function scoreOf(address agent) view returns (int256)"]);

/** Reads from the node, to compare with the subgraph. */
function chainOf({ rpcUrl, score }: NetworkFacts) {
  const client = createPublicClient({ transport: http(rpcUrl) });
  return {
    balanceOf: (token: Hex, owner: Hex) =>
      client.readContract({ address: token, abi: erc20Abi, functionName: "balanceOf", args: [owner] }),
    scoreOf: async (agent: Hex) =>
      Number(await client.readContract({ address: score, abi: scoreAbi, functionName: "scoreOf", args: [agent] })),
  };
}

async function openParties(stack: StackFacts): Promise<Parties> {
  const facts = stack.networks[network];
  const usdc = facts.tokens["USDC"];
  if (usdc === undefined) throw new Error(`the stack lists no USDC on ${network}`);
  const buyer = await freshWallet(stack, network, PRICE * BigInt(chosen.length));
  const [seller, stranger] = [await freshWallet(stack, network, 0n), await freshWallet(stack, network, 0n)];
  return { network: facts, usdc, buyer, seller, stranger };
}

/** Plays one ending and checks what subgraph and chain say afterwards. */
async function play(parties: Parties, { name, state, buyerPercent, settle }: Ending, note: (text: string) => void) {
  const chain = chainOf(parties.network);
  const [buyer, seller] = [parties.buyer.account.address, parties.seller.account.address];
  const balances = () => Promise.all([buyer, seller].map((owner) => chain.balanceOf(parties.usdc, owner)));
  const deal = await BareDeal.fund(parties);
  note(`escrow ${deal.escrowId}`);
  const [buyerBefore = 0n, sellerBefore = 0n] = await balances();
  await settle(deal);
  const { escrow, scores } = await deal.untilIndexed(state);
  const [buyerAfter = 0n, sellerAfter = 0n] = await balances();
  const locked = BigInt(escrow.locked);
  const toBuyer = (locked * BigInt(buyerPercent)) / 100n;
  expect("state on chain", (await deal.contractOf(parties.stranger).get(deal.escrowId)).state, state);
  expect("paid to the buyer", buyerAfter - buyerBefore, toBuyer);
  expect("paid to the seller", sellerAfter - sellerBefore, locked - toBuyer);
  expect("buyerAmount of the subgraph", BigInt(escrow.buyerAmount), toBuyer);
  expect("sellerAmount of the subgraph", BigInt(escrow.sellerAmount), locked - toBuyer);
  expect("the buyer's score", scores.buyer, await chain.scoreOf(buyer));
  expect("the seller's score", scores.seller, await chain.scoreOf(seller));
  note(`${state}: ${toBuyer} units to the buyer, ${locked - toBuyer} to the seller`);
  note(`scores: buyer ${scores.buyer}, seller ${scores.seller}`);
  const { escrowId } = deal;
  return { ending: name, escrowId, state, buyerAmount: escrow.buyerAmount, sellerAmount: escrow.sellerAmount, scores };
}

function expect<T extends bigint | number | string>(name: string, found: T, expected: T): void {
  if (found !== expected) throw new Error(`${name}: ${String(found)}, expected ${String(expected)}`);
}

try {
  const narrator = new Narrator(values.json);
  const parties = await openParties(readStackFacts(values.stack));
  const endings = [];
  for (const ending of chosen) {
    endings.push(await narrator.step(ending.title, (note) => play(parties, ending, note)));
  }
  const seconds = Number(narrator.elapsedSeconds().toFixed(2));
  const [buyer, seller] = [parties.buyer.account.address, parties.seller.account.address];
  if (values.json) console.log(JSON.stringify({ network, buyer, seller, endings, seconds }));
  else narrator.line(`\nSettled ${endings.length} deals without the API in ${seconds} s.`);
} catch (error) {
  console.error(`\nStopped: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
