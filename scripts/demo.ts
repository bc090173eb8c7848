// `npm run demo`: two agents agree on, fund, deliver and settle a deal on the running marketplace.
import { join } from "node:path";

import { Marketplace, type Registration } from "../sdk/src/index.ts";
import { readArguments, refuseArguments } from "./command/arguments.ts";
import { freshWallet } from "./demo/chain.ts";
import { SCENARIOS, type DealParties, type Scenario, acceptAndConfirm, agree, deliver, fund } from "./demo/deal.ts";
import { dispute } from "./demo/dispute.ts";
import { claimWhenAbandoned, finalizeAfterWindow } from "./demo/endings.ts";
import { Narrator } from "./demo/narrator.ts";
import { WebhookReceiver, acceptSigned } from "./demo/receiver.ts";
import { type StackFacts, readStackFacts } from "./demo/stack-facts.ts";

const HELP = `usage: npm run demo -- [--scenario ${SCENARIOS.join("|")}] [--stack FILE] [--json] [--help]

Runs one deal between two new agents on the running marketplace (\`npm start\`) and shows each step.
  --scenario accepted      the buyer accepts the delivery (the default)
  --scenario auto-release  the buyer stays silent; the chain's clock moves past the dispute window
  --scenario abandoned     the seller never delivers; the clock moves past deadline and grace
  --scenario dispute       the buyer disputes three deliveries: a win for each side and an agreement
  --stack FILE             facts of the stack (default .local/stack.json)
  --json                   print one JSON object at the end instead of the steps`;

const NETWORK = "base-sepolia";
const BUYER_USDC_UNITS = 10_000_000n;
const SELLER = "Risk Analyst";
const BUYER = "Treasury Bot";

const { values } = readArguments(HELP, {
  scenario: { type: "string", default: "accepted" },
  stack: { type: "string", default: join(".local", "stack.json") },
  json: { type: "boolean", default: false },
});
if (!SCENARIOS.includes(values.scenario as Scenario)) {
  refuseArguments(`--scenario: "${values.scenario}" is not one of ${SCENARIOS.join(", ")}`);
}

/** The on-chain scores of both parties, read through the API. */
async function scores(market: Marketplace, buyer: Registration, seller: Registration) {
  const [ofBuyer, ofSeller] = await Promise.all([buyer, seller].map((party) => market.score(party.walletAddress)));
  return { buyer: ofBuyer?.onChainScore ?? 0, seller: ofSeller?.onChainScore ?? 0 };
}

async function play(narrator: Narrator, stack: StackFacts, scenario: Scenario): Promise<object> {
  const market = new Marketplace({ url: stack.api });
  const secrets = new Map<string, string>();
  const hookOf = (agentName: string) => WebhookReceiver.start(acceptSigned(() => secrets.get(agentName)));
  const hooks = await Promise.all([hookOf(SELLER), hookOf(BUYER)]);
  const [sellerHook, buyerHook] = hooks;
  try {
    const [seller, buyer] = await narrator.step("Two fresh wallets register as agents", async (note) => {
      const sellerWallet = await freshWallet(stack, NETWORK, 0n);
      const buyerWallet = await freshWallet(stack, NETWORK, BUYER_USDC_UNITS);
      const join = async (agentName: string, wallet: typeof sellerWallet) => {
        const registration = await market.register({ agentName, wallet });
        secrets.set(agentName, (await registration.agent.webhooks.secret()).secret);
        note(`${agentName}: ${registration.agentId}, wallet ${registration.walletAddress}`);
        return registration;
      };
      return [await join(SELLER, sellerWallet), await join(BUYER, buyerWallet)];
    });
    const network = stack.networks[NETWORK];
    const parties: DealParties = { market, network, seller: seller.agent, buyer: buyer.agent, sellerHook, buyerHook };
    const before = await scores(market, buyer, seller);
    narrator.line(`      scores: buyer ${before.buyer}, seller ${before.seller}`);
    const facts =
      scenario === "dispute"
        ? { disputes: await dispute(narrator, parties) }
        : await settle(narrator, parties, scenario);
    const after = await scores(market, buyer, seller);
    narrator.line(`      scores: buyer ${before.buyer} → ${after.buyer}, seller ${before.seller} → ${after.seller}`);
    return {
      scenario,
      ...facts,
      scores: { before, after },
      seconds: Number(narrator.elapsedSeconds().toFixed(2)),
    };
  } finally {
    await Promise.all(hooks.map((hook) => hook.close()));
  }
}

/** One deal to its end. */
async function settle(narrator: Narrator, parties: DealParties, scenario: Scenario) {
  const deal = await agree(narrator, parties);
  await fund(narrator, parties, deal);
  if (scenario === "abandoned") {
    await claimWhenAbandoned(narrator, parties, deal);
  } else {
    await deliver(narrator, parties, deal);
    if (scenario === "accepted") await acceptAndConfirm(narrator, parties, deal);
    else await finalizeAfterWindow(narrator, parties, deal);
  }
  return { transactionId: deal.transactionId };
}

try {
  const narrator = new Narrator(values.json);
  const result = await play(narrator, readStackFacts(values.stack), values.scenario as Scenario);
  if (values.json) console.log(JSON.stringify(result));
  else narrator.line(`\nSettled (${values.scenario}) in ${narrator.elapsedSeconds().toFixed(1)} s.`);
} catch (error) {
  console.error(`\nThe demo stopped: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
