// A disputed deal on its owner's page, in a real browser with a wallet: evidence, settlements to the end on chain, and rulings.
import { assert } from "chai";
import type { Page } from "playwright-core";
import { decodeFunctionData } from "viem";

import { resolverAbi } from "../../api/chain/abis.ts";
import { EVIDENCE_LIMITS } from "../../api/config/constants.ts";
import { AGREEMENT_TYPES, Marketplace } from "../../sdk/src/index.ts";
import type { Deal } from "../../sdk/src/index.ts";
import { EVIDENCE_BOUNDS } from "../../web/src/owner/dispute-words.ts";
import type { TestAgent } from "../fixtures/api.ts";
import { act, readTransaction } from "../fixtures/deals.ts";
import type { CheckoutData } from "../fixtures/deals.ts";
import { BAD, DECIDED, DISPUTE_SETTINGS } from "../fixtures/disputes.ts";
import { InjectedWallet } from "../fixtures/injected-wallet.ts";
import { OwnerBrowser, unexpected } from "../fixtures/owner-browser.ts";
import { assertShown } from "../fixtures/page-checks.ts";
import { until } from "../fixtures/until.ts";

const BASE_CHAIN = 8_453;
const HOSTILE = "<img src=x onerror=alert(1)> see https://evil.example";

describe("an owner's disputes in a browser", () => {
  let owner: OwnerBrowser;
  before(async () => {
    owner = await OwnerBrowser.start({}, { disputes: DISPUTE_SETTINGS }, { runsLoops: true });
  });
  after(() => owner.close());

  const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
  const walletOf = (agent: TestAgent) => new InjectedWallet(agent.account, owner.market.chain);
  const pageOf = ({ transactionId }: CheckoutData) => `/me/deals/${transactionId}`;
  const look = (page: Page) => press(page, "Look for what the other party has added");
  /** The deal for an agent's own program. */
  const programOf = ({ apiKey, account }: TestAgent, { transactionId }: CheckoutData): Promise<Deal> =>
    new Marketplace({ url: owner.api.url })
      .agent({ apiKey, wallet: owner.market.chain.walletOf(account) })
      .deal(transactionId);
  const disputed = async (): Promise<CheckoutData> => {
    const { api, chain, buyer } = owner.market;
    const deal = await owner.delivered(BAD, { criteria: DECIDED });
    await act(api, chain, buyer, deal.transactionId, "openDispute");
    await until("the service has seen the dispute", async () => {
      const { disputeId } = await readTransaction(api, buyer, deal.transactionId);
      return disputeId !== null;
    });
    return deal;
  };

  it("are opened, argued and settled by both to the end on chain", async () => {
    const { api, buyer, seller } = owner.market;
    assert.deepEqual(
      [EVIDENCE_BOUNDS.text, EVIDENCE_BOUNDS.items, EVIDENCE_BOUNDS.attachments],
      [EVIDENCE_LIMITS.textLength, EVIDENCE_LIMITS.items, EVIDENCE_LIMITS.attachments],
    );
    const deal = await owner.delivered(BAD, { criteria: DECIDED });
    const wallet = walletOf(buyer);
    const { page, faults, close } = await owner.signIn(wallet, pageOf(deal), "See and act");
    await press(page, "Dispute the delivery");
    await press(page, "Sign with Test Wallet");
    await page.getByText(/The deal is now: Disputed\.$/).waitFor();
    await press(page, "Close");

    await page.getByLabel("What is wrong with the delivery?").fill("The summary has one word.");
    await press(page, "Say what is wrong");
    await page.getByText("You · what is wrong").waitFor();
    await page.locator(".messages").getByText("The summary has one word.").waitFor();
    const evidence = page.getByLabel("What should the ruling take into account?");
    await evidence.fill("a".repeat(EVIDENCE_LIMITS.textLength + 1));
    await page.getByLabel("Addresses").fill("http://agent.example/result.json");
    await press(page, "Submit evidence");
    await page.getByText("5,001 characters: 1 too many.").waitFor();
    await page.getByText("Each an address with https://.").waitFor();
    const program = await programOf(seller, deal);
    assert.lengthOf((await program.dispute.read()).evidence, 0, "nothing was sent");
    await evidence.fill("It names no <b>owner</b>.");
    await page.getByLabel("Addresses").fill("https://agent.example/result.json");
    await press(page, "Submit evidence");
    await page.locator(".messages").getByText("It names no <b>owner</b>.").waitFor();

    await program.dispute.submitEvidence({
      type: "other",
      description: HOSTILE,
      attachments: ["https://evil.example/<b>"],
    });
    await program.dispute.offerSettlement({ buyerPercent: 40 });
    await look(page);
    await page.getByText(HOSTILE).waitFor();
    assert.strictEqual(await page.locator("section :is(img, a[href*='evil'])").count(), 0);
    await page.getByText(/^Pays [\d.]+ USDC to you and [\d.]+ USDC to the seller: 40 % to the buyer\.$/).waitFor();
    await assertShown(page, "/me/deals/{transactionId}, disputed");

    await page.getByLabel("Percent to the buyer").fill("101");
    await press(page, "Offer it");
    await page.locator(".fault", { hasText: "A whole number from 0 to 100." }).waitFor();
    await page.getByLabel("Percent to the buyer").fill("55");
    await press(page, "Offer it");
    await press(page, "Sign with Test Wallet");
    await page.getByText("Your offer · holds until").waitFor();
    assert.strictEqual(await page.getByRole("button", { name: "End the dispute" }).count(), 0);

    await press(page, "Accept 40 % to the buyer");
    wallet.chainId = BASE_CHAIN;
    await press(page, "Sign with Test Wallet");
    await page.getByText("Change the chain in the wallet, then try again.").waitFor();
    assert.lengthOf(wallet.grants, 1, "nothing was signed on another chain");
    wallet.chainId = owner.market.chain.client.chain.id;
    await press(page, "Try again");
    await press(page, "Sign with Test Wallet");
    await press(page, "End the dispute as both have signed");
    await page.getByRole("button", { name: "Sign with Test Wallet" }).waitFor();
    assert.match(await page.locator(".move").innerText(), /Function\s+resolveByAgreement/);
    await assertShown(page, "/me/deals/{transactionId}, to be settled");
    await press(page, "Sign with Test Wallet");
    await page.getByText(/^Done in block [\d,]+\. The deal is now: Resolved\.$/).waitFor();

    const { settlement } = await program.dispute.read();
    const { buyer: own, seller: other } = settlement.offers;
    assert.ok(own !== null && other !== null);
    const granted = wallet.grants.at(-1);
    assert.deepEqual(granted?.message, {
      escrowId: deal.paymentInstructions.escrowId,
      buyerPercent: "40",
      deadline: String(other.deadline),
    });
    assert.deepEqual(granted?.types["ResolutionAgreement"], [...AGREEMENT_TYPES.ResolutionAgreement]);
    const sent = wallet.asked.at(-1);
    assert.ok(sent !== undefined);
    assert.strictEqual(sent.to.toLowerCase(), settlement.typedData.domain.verifyingContract.toLowerCase());
    const { functionName, args } = decodeFunctionData({ abi: resolverAbi, data: sent.data });
    assert.strictEqual(functionName, "resolveByAgreement");
    assert.deepEqual(args, [
      deal.paymentInstructions.escrowId,
      40n,
      BigInt(other.deadline),
      [own.signature, other.signature],
    ] as typeof args);
    const ended = await readTransaction(api, buyer, deal.transactionId);
    const locked = BigInt(ended.lockedAmount as string);
    assert.deepInclude(ended, { status: "resolved", outcome: "Split", buyerAmount: String((locked * 40n) / 100n) });
    await close();
    assert.deepEqual(unexpected(faults), []);
  });

  it("refuse more evidence with the API's bound, and any after it is complete", async () => {
    const { buyer, seller } = owner.market;
    const deal = await disputed();
    const { page, faults, close } = await owner.signIn(walletOf(seller), pageOf(deal), "See and act");
    const evidence = page.getByLabel("What should the ruling take into account?");
    await evidence.fill("One more");
    // The page doesn't know of what the agent's program does meanwhile.
    const program = await programOf(seller, deal);
    for (let item = 1; item <= EVIDENCE_LIMITS.items; item += 1) {
      await program.dispute.submitEvidence({ type: "other", description: `Item ${item}`, attachments: [] });
    }
    await press(page, "Submit evidence");
    await page.getByText("You have submitted 20 items of evidence, and 20 are the most.").waitFor();
    await look(page);
    await page.getByText("You have submitted 20 items of evidence, which is the most.").waitFor();
    await press(page, "Complete your evidence…");
    await press(page, "Complete it");
    await page.getByText("You have marked your evidence complete.").waitFor();
    assert.strictEqual(await page.getByRole("button", { name: "Submit evidence" }).count(), 0);
    const { complete, evidence: items } = await (await programOf(buyer, deal)).dispute.read();
    assert.deepEqual([complete.seller, complete.buyer, items.length], [true, false, EVIDENCE_LIMITS.items]);
    await close();
    assert.deepEqual(unexpected(faults, "409"), []);
  });

  it("show the ruling beside the criteria, with facts, checks and the hash that the page computes", async () => {
    const { buyer, seller } = owner.market;
    const deal = await disputed();
    const { page, faults, close } = await owner.signIn(walletOf(buyer), pageOf(deal), "See and act");
    await press(page, "Complete your evidence…");
    await press(page, "Complete it");
    await page.getByText("You have marked your evidence complete.").waitFor();
    const program = await programOf(seller, deal);
    await program.dispute.complete();
    await until("the dispute is ruled", async () => (await program.dispute.read()).status === "ruled");
    await look(page);
    await page.getByRole("heading", { name: "What was ruled" }).waitFor();
    await page.getByText("It ends for the buyer.").waitFor();
    await page
      .getByText("This document has the hash that the service says. The chain has none yet", { exact: false })
      .waitFor();
    const ruled = page.getByRole("region", { name: "What was ruled" });
    await ruled.getByText("The content was handed over in time").waitFor();
    await ruled.getByText("cel: words(result.summary) >= 3").first().waitFor();
    const [agreed, ruling] = await Promise.all(
      ["What was agreed", "What was ruled"].map((name) => page.getByRole("region", { name }).boundingBox()),
    );
    assert.strictEqual(agreed?.y, ruling?.y, "side by side");
    await assertShown(page, "/me/deals/{transactionId}, ruled");
    await close();
    assert.deepEqual(unexpected(faults), []);
  });

  it("can't be argued by a session that only sees", async () => {
    const deal = await disputed();
    const { page, faults, close } = await owner.signIn(walletOf(owner.market.buyer), pageOf(deal));
    await page.getByText("This session only sees. To submit evidence or offer a settlement").waitFor();
    for (const name of ["Submit evidence", "Say what is wrong", "Complete your evidence…", "Offer it"]) {
      assert.strictEqual(await page.getByRole("button", { name, exact: true }).count(), 0, name);
    }
    await page.getByText(`agent-marketplace dispute ${deal.transactionId} --reason`).waitFor();
    await close();
    assert.deepEqual(unexpected(faults), []);
  });
});
