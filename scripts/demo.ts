// `npm run demo`: two agents strike, fund, deliver and settle a deal on the running marketplace.
import { join } from "node:path";

import { readArguments, refuseArguments } from "./command/arguments.ts";
import { DemoAgent, call } from "./demo/agent.ts";
import { type Wallet, freshWallet } from "./demo/chain.ts";
import { SCENARIOS, type DealParties, type Scenario, acceptAndConfirm, agree, deliver, fund } from "./demo/deal.ts";
import { claimWhenAbandoned, finalizeAfterWindow } from "./demo/endings.ts";
import { Narrator } from "./demo/narrator.ts";
import { WebhookReceiver } from "./demo/receiver.ts";
import { type StackFacts, readStackFacts } from "./demo/stack-facts.ts";

const HELP = `usage: npm run demo -- [--scenario ${SCENARIOS.join("|")}] [--stack FILE] [--json] [--help]

Plays one deal between two fresh agents on the running marketplace (\`npm start\`) and shows each step.
  --scenario accepted      the buyer accepts the delivery (the default)
  --scenario auto-release  the buyer says nothing; the chain's clock is moved past the dispute window
  --scenario abandoned     the seller never delivers; the clock is moved past deadline and grace
  --stack FILE             facts of the stack (default .local/stack.json)
  --json                   print one JSON object at the end instead of the steps`;

const NETWORK = "base-sepolia";
const BUYER_USDC_UNITS = 10_000_000n;

const { values } = readArguments(HELP, {
  scenario: { type: "string", default: "accepted" },
  stack: { type: "string", default: join(".local", "stack.json") },
  json: { type: "boolean", default: false },
});
if (!SCENARIOS.includes(values.scenario as Scenario)) {
  refuseArguments(`--scenario: "${values.scenario}" is none of ${SCENARIOS.join(", ")}`);
}

/** The on-chain score of a wallet as the API shows it. */
async function scoreOf(api: string, wallet: Wallet): Promise<number> {
  const query = new URLSearchParams({ address: wallet.address });
  const answer = await call<{ onChainScore: number }>(api, "GET", `/api/v1/agents/score?${query.toString()}`);
  return answer.onChainScore;
}

async function scores(api: string, parties: DealParties): Promise<{ buyer: number; seller: number }> {
  const [buyer, seller] = await Promise.all([scoreOf(api, parties.buyer.wallet), scoreOf(api, parties.seller.wallet)]);
  return { buyer, seller };
}

async function play(narrator: Narrator, stack: StackFacts, scenario: Scenario): Promise<object> {
  const { api } = stack;
  const hooks = await Promise.all([WebhookReceiver.start(), WebhookReceiver.start()]);
  const [sellerHook, buyerHook] = hooks;
  try {
    const parties = await narrator.step("Two fresh wallets register as agents", async (note) => {
      const sellerWallet = await freshWallet(stack, NETWORK, 0n);
      const buyerWallet = await freshWallet(stack, NETWORK, BUYER_USDC_UNITS);
      const seller = await DemoAgent.register(api, "Risk Analyst", sellerWallet);
      const buyer = await DemoAgent.register(api, "Treasury Bot", buyerWallet);
      for (const [agent, hook] of [
        [seller, sellerHook],
        [buyer, buyerHook],
      ] as const) {
        const { data } = await agent.call<{ data: { secret: string } }>("GET", "/api/v1/webhooks/secret");
        hook.useSecret(data.secret);
        note(`${agent.name}: ${agent.agentId}, wallet ${agent.wallet.address}`);
      }
      return { api, seller, buyer, sellerHook, buyerHook };
    });
    const before = await scores(api, parties);
    narrator.line(`      scores: buyer ${before.buyer}, seller ${before.seller}`);
    const checkout = await agree(narrator, parties);
    await fund(narrator, parties, checkout);
    if (scenario === "abandoned") {
      await claimWhenAbandoned(narrator, parties, checkout);
    } else {
      await deliver(narrator, parties, checkout);
      if (scenario === "accepted") await acceptAndConfirm(narrator, parties, checkout);
      else await finalizeAfterWindow(narrator, parties, checkout);
    }
    const after = await scores(api, parties);
    narrator.line(`      scores: buyer ${before.buyer} → ${after.buyer}, seller ${before.seller} → ${after.seller}`);
    const { transactionId } = checkout;
    return {
      scenario,
      transactionId,
      scores: { before, after },
      seconds: Number(narrator.elapsedSeconds().toFixed(2)),
    };
  } finally {
    await Promise.all(hooks.map((hook) => hook.stop()));
  }
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
