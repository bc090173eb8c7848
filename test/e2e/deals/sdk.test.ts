// The client against the whole stack: every verb that needs no move of the chain's clock.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { assert } from "chai";
import { createWalletClient, http } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { base } from "viem/chains";

import { acceptSigned, eventIdOf, WebhookReceiver } from "../../../scripts/demo/receiver.ts";
import {
  ApiError,
  collect,
  ContractRevertedError,
  Marketplace,
  RefusedError,
  relayCall,
  sendCall,
} from "../../../sdk/src/index.ts";
import type { Deal, Registration } from "../../../sdk/src/index.ts";
import { fundedDeal, listing, openFullStack, openShop, PATIENT } from "../../fixtures/full-stack.ts";
import type { FullStack } from "../../fixtures/full-stack.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";
import { installSdk } from "../../fixtures/sdk-package.ts";
import { until } from "../../fixtures/until.ts";

const run = promisify(execFile);

describe("the client", () => {
  let stack: FullStack;
  let buyer: Registration;
  let seller: Registration;
  let serviceId: string;

  const checkOut = (): Promise<Deal> => buyer.agent.checkout({ serviceId });
  const newDeal = () => fundedDeal({ buyer, seller, serviceId });

  before(async () => {
    stack = await openFullStack();
    ({ buyer, seller, serviceId } = await openShop(stack));
  });

  it("settles the deal of its README, installed in an empty folder, and again with the same wallets", async () => {
    const dir = mkdtempSync(join(tmpdir(), "sdk-readme-"));
    try {
      await installSdk(dir);
      const [, code] = /<!-- deal -->\n```js\n([\s\S]*?)```/.exec(readFileSync("sdk/README.md", "utf8")) ?? [];
      assert.ok(code !== undefined, "sdk/README.md has a deal");
      assert.isAtMost(code.trimEnd().split("\n").length, 30);
      writeFileSync(join(dir, "deal.mjs"), code);
      const keys = [generatePrivateKey(), generatePrivateKey()] as const;
      const { chain, url } = stack;
      for (const key of keys) await chain.endow(privateKeyToAccount(key), { usdc: 5_000_000n });
      const env = { MARKETPLACE_URL: url, RPC_URL: chain.rpcUrl, SELLER_KEY: keys[0], BUYER_KEY: keys[1] };
      for (const time of ["first", "second"]) {
        const { stdout } = await run(process.execPath, ["deal.mjs"], { cwd: dir, env: { ...process.env, ...env } });
        assert.strictEqual(stdout, "funded\nThree risks were found. released\n", time);
      }
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });

  it("reads what needs no key", async () => {
    const { market, chain } = stack;
    const score = await market.score(buyer.walletAddress);
    assert.deepEqual([score.onChainScore, score.graduated], [0, false]);
    assert.strictEqual(await market.publicKey(buyer.agentId), buyer.publicKey);
    assert.ok((await market.categories()).some(({ slug }) => slug === "general"));
    const networks = await market.networks();
    const testnet = networks.find(({ network }) => network === "base-sepolia");
    assert.strictEqual(testnet?.contracts.escrow, chain.deployment.escrow);
    await until("the listing is found", async () =>
      (await market.discover("is this coin dangerous to hold?")).some((found) => found.serviceId === serviceId),
    );
    const visibility = await seller.agent.listings.visibility(serviceId, "is this coin dangerous to hold?");
    assert.isTrue(visibility.found);
    assert.isNotEmpty(visibility.parts.reasons);
  });

  it("issues a key and revokes it", async () => {
    const { market, newWallet } = stack;
    const wallet = await newWallet();
    const { agentId } = await market.register({ agentName: "Third", wallet });
    const issued = await market.issueKey({ wallet, revokeOthersAfterSeconds: 60 });
    assert.strictEqual(issued.agentId, agentId);
    assert.strictEqual((await issued.agent.revokeKey()).agentId, agentId);
    assert.strictEqual((await rejectionOf(issued.agent.listings.get(serviceId), ApiError)).code, "invalid_api_key");
  });

  it("changes, pauses, resumes and archives a listing", async () => {
    const { listings } = seller.agent;
    const { id } = await listings.create(listing({ title: "Another report" }));
    assert.strictEqual((await listings.update(id, { price: 3 })).price, 3);
    assert.strictEqual((await listings.pause(id)).status, "paused");
    assert.deepEqual(
      (await collect(listings.list({ sellerId: seller.agentId, status: "paused" }))).map((listing) => listing.id),
      [id],
    );
    assert.strictEqual((await listings.resume(id)).status, "active");
    assert.strictEqual((await listings.archive(id)).status, "archived");
    assert.strictEqual((await listings.get(id)).status, "archived");
  });

  it("reads other agents and their trust records", async () => {
    const { registry } = buyer.agent;
    const wallet = seller.walletAddress;
    assert.deepEqual(
      (await collect(registry.list({ wallet }))).map(({ agentId }) => agentId),
      [seller.agentId],
    );
    const record = await registry.get(seller.agentId);
    assert.deepEqual([record.walletAddress, record.publicKey], [wallet, seller.publicKey]);
    assert.strictEqual((await registry.trust(seller.agentId)).agentId, seller.agentId);
    assert.strictEqual((await registry.discoveryScore(seller.agentId)).onChainScore, 0);
    assert.strictEqual((await rejectionOf(registry.get("agt_unknown"), ApiError)).code, "not_found");
  });

  it("reads its own budgets and fee tier, and verifies itself", async () => {
    const { account } = buyer.agent;
    const answer = await stack.market.requestDeveloperAccess({ email: "buyer@example.test" });
    assert.notInclude(answer, "buyer@example.test", "the answer doesn't say which addresses are known");
    const usage = await account.usage();
    assert.deepEqual([usage.agentId, usage.budgets.search.limit], [buyer.agentId, 500]);
    assert.strictEqual((await account.feeTier()).tier, "Standard");
    assert.deepEqual(await account.linkPaymentMethod(), { level: 2, name: "Verified", maxJobValueUsd: 10_000 });
    assert.strictEqual((await rejectionOf(account.verifyEmail("0".repeat(64)), ApiError)).status, 400);
    await rejectionOf(account.linkPaymentMethod("DOGE"), RefusedError);
  });

  it("[D45] checks a payload before the delivery, and the delivered one before the acceptance", async () => {
    const criteria = { schema: { required: ["summary"] }, checks: ["cel: words(result.summary) > 1"] };
    const deal = await buyer.agent.checkout({ serviceId, criteria });
    await deal.fund(PATIENT);
    const job = await seller.agent.deal(deal.transactionId);
    assert.deepEqual((await job.check({ summary: "Short" })).checks[0]?.result, "fail");
    assert.strictEqual((await job.check({ summary: "Three risks" })).result, "pass");
    await job.deliver({ summary: "Three risks" }, PATIENT);
    assert.strictEqual((await deal.check()).result, "pass");
  });

  it("[D13] funds without gas of the buyer, by a signature that a relayer can't change", async () => {
    const { market, chain, newWallet } = stack;
    const relayer = await newWallet();
    const poor = await newWallet(10_000_000n);
    await chain.client.setBalance({ address: poor.account.address, value: 0n });
    const { agent } = await market.register({ agentName: "No gas", wallet: poor });
    await rejectionOf((await agent.checkout({ serviceId })).fundGasless({ relayer, ...PATIENT }), RefusedError);
    const tooShort = { serviceId, disputeWindow: 3_599 };
    await rejectionOf(agent.checkout(tooShort, { gasless: true }), RefusedError);
    const deal = await agent.checkout({ serviceId }, { gasless: true });
    assert.deepEqual([deal.terms.disputeWindow, deal.terms.recommendedDisputeWindow], [3_600n, 300]);
    const steps: string[] = [];
    const warnings: string[] = [];
    const funded = await deal.fundGasless({
      relayer,
      ...PATIENT,
      onReceipt: (step) => steps.push(step),
      onWarning: ({ code }) => warnings.push(code),
    });
    assert.deepEqual(warnings, ["no_ether_for_dispute"]);
    assert.deepEqual(
      [funded.status, funded.buyerAddress, steps],
      ["funded", poor.account.address, ["createEscrowWithAuthorization"]],
    );

    const other = await agent.checkout({ serviceId }, { gasless: true });
    const authorization = await other.authorizeFunding({ onWarning: () => undefined });
    const changed = {
      ...authorization,
      terms: { ...authorization.terms, deadline: authorization.terms.deadline + 60n },
    };
    await rejectionOf(sendCall(relayer, relayCall(changed)));
    await sendCall(relayer, relayCall(authorization));
    assert.strictEqual((await other.waitForStatus("funded", PATIENT)).status, "funded");
  });

  it("signs nothing for a dearer deal, another chain or another contract", async () => {
    const deal = await checkOut();
    await rejectionOf(deal.fund({ maxAmount: deal.terms.amount - 1n }), RefusedError);
    const mainnet = createWalletClient({
      account: privateKeyToAccount(generatePrivateKey()),
      chain: base,
      transport: http(),
    });
    const elsewhere = await buyer.agent.withWallet(mainnet).deal(deal.transactionId);
    await rejectionOf(elsewhere.fund(), RefusedError);
    const escrowContracts = { "base-sepolia": seller.walletAddress };
    const careful = new Marketplace({ url: stack.url, escrowContracts }).agent({ apiKey: buyer.apiKey });
    await rejectionOf(careful.deal(deal.transactionId), RefusedError);
    await rejectionOf(careful.checkout({ serviceId }), RefusedError);
    assert.strictEqual((await deal.escrow.get(deal.terms.escrowId)).state, "None");
  });

  it("repeats verbs without sending anything twice, and settles by accept", async () => {
    const { deal, job } = await newDeal();
    const sent: string[] = [];
    const options = { ...PATIENT, onReceipt: (step: string) => sent.push(step) };
    assert.strictEqual((await deal.fund(options)).status, "funded");
    const [first] = await collect(seller.agent.jobs({ status: "funded" }), 1);
    assert.strictEqual(first?.lockedAmount, deal.terms.refundableAmount);
    for (let time = 0; time < 2; time += 1) await job.deliver({ summary: "Three risks" }, options);
    assert.strictEqual((await rejectionOf(deal.confirm(PATIENT), ApiError)).code, "not_accepted_on_chain");
    for (let time = 0; time < 2; time += 1) assert.strictEqual((await deal.accept(options)).status, "released");
    assert.deepEqual(sent, ["submitDelivery", "accept"]);
    const { status, proofVerified } = await deal.read();
    assert.deepEqual([status, proofVerified], ["released", true]);
    assert.strictEqual((await deal.criteria())["title"], listing().title);
    const mine = await collect(buyer.agent.transactions({ status: "released" }));
    assert.deepEqual(
      mine.map(({ transactionId }) => transactionId),
      [deal.transactionId],
    );
    // The answers of verbs don't wait for the event log.
    const told = await until("the release is in the seller's log", async () => {
      const events = await collect(seller.agent.events.list({ transactionId: deal.transactionId }));
      return events.length > 1 && events;
    });
    assert.deepEqual(
      told.map(({ event }) => event),
      ["escrow.funded", "escrow.released"],
    );
  });

  it("[D6] declines a job with refund", async () => {
    const { deal, job } = await newDeal();
    const refunded = await job.refund(PATIENT);
    assert.deepEqual([refunded.status, refunded.buyerAmount], ["refunded", deal.terms.refundableAmount]);
  });

  it("opens a dispute", async () => {
    const { deal, job } = await newDeal();
    await job.deliver({ summary: "Nothing" }, PATIENT);
    assert.strictEqual((await deal.openDispute(PATIENT)).status, "disputed");
  });

  it("names the contract's own error when a move comes too early", async () => {
    const { deal, job } = await newDeal();
    assert.isFalse((await deal.claimAbandonedCall()).claimable);
    assert.strictEqual(
      (await rejectionOf(deal.claimAbandoned(), ContractRevertedError)).errorName,
      "AbandonmentGraceOpen",
    );
    await job.deliver({ summary: "Early" }, PATIENT);
    assert.isFalse((await job.finalizeCall()).finalizable);
    assert.strictEqual((await rejectionOf(job.finalize(), ContractRevertedError)).errorName, "DisputeWindowOpen");
    const usdc = deal.terms.token;
    assert.strictEqual(
      (await rejectionOf(seller.agent.withdraw(usdc), ContractRevertedError)).errorName,
      "NothingToWithdraw",
    );
    const elsewhere = (recipient: `0x${string}`) =>
      rejectionOf(seller.agent.withdraw(usdc, { recipient }), ContractRevertedError);
    assert.strictEqual((await elsewhere(buyer.walletAddress)).errorName, "NothingToWithdraw");
    assert.strictEqual((await elsewhere(deal.escrow.address)).errorName, "InvalidRecipient");
    assert.strictEqual(await deal.escrow.creditOf(seller.walletAddress, usdc), 0n);
  });

  it("verifies the webhooks of its agent, while the secret rotates as well", async () => {
    const { agent } = await stack.market.register({ agentName: "Listener", wallet: await stack.newWallet() });
    const { secret } = await agent.webhooks.secret();
    const hook = await WebhookReceiver.start(acceptSigned(() => secret));
    const { id } = await agent.listings.create(listing({ endpointUrl: hook.url }));
    const deal = await buyer.agent.checkout({ serviceId: id });
    await deal.fund(PATIENT);
    const [funded] = await hook.waitFor(({ status }) => status === 204);
    assert.match(eventIdOf(funded), /^evt_/);
    assert.deepEqual(
      [funded.body?.event, funded.body?.["lockedAmount"]],
      ["escrow.funded", String(deal.terms.refundableAmount)],
    );
    const delivery = await until("the attempt is logged", async () => {
      const log = await collect(agent.webhooks.deliveries({ transactionId: deal.transactionId }));
      // The backup waits half a minute.
      return log.find(({ kind, status }) => kind === "immediate" && status === "acknowledged");
    });
    assert.strictEqual(delivery.url, hook.url);
    const next = await agent.webhooks.rotateSecret();
    assert.strictEqual((await agent.webhooks.activateSecret()).secret, next.next?.secret);
    await hook.close();
  });
});
