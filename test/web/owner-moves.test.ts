// Moves of a deal from the button to the block, in a real browser with a wallet, against the chain.
import { assert } from "chai";
import type { Page } from "playwright-core";
import { encodeFunctionData, numberToHex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

import { escrowAbi } from "../../api/chain/abis.ts";
import { act, readTransaction } from "../fixtures/deals.ts";
import type { CheckoutData } from "../fixtures/deals.ts";
import { InjectedWallet } from "../fixtures/injected-wallet.ts";
import { OwnerBrowser, unexpected } from "../fixtures/owner-browser.ts";
import { assertShown } from "../fixtures/page-checks.ts";

const BASE_CHAIN = 8_453;

describe("an owner's moves in a browser", () => {
  let owner: OwnerBrowser;
  before(async () => {
    owner = await OwnerBrowser.start();
  });
  after(() => owner.close());

  /** A delivered deal on the screen of its buyer, whose session only sees. */
  const open = async (order = "1") => {
    const { market } = owner;
    const deal = await owner.delivered({ answer: 42 }, { requestPayload: { order } });
    const wallet = new InjectedWallet(market.buyer.account, market.chain);
    const watched = await owner.signIn(wallet, `/me/deals/${deal.transactionId}`);
    return { ...watched, deal, wallet };
  };
  const press = (page: Page, name: string) => page.getByRole("button", { name }).click();
  const statusOf = async ({ transactionId }: CheckoutData) =>
    (await readTransaction(owner.api, owner.market.buyer, transactionId)).status as string;

  it("accept: shows what is signed, encodes it itself, and follows it to the released deal", async () => {
    const { page, faults, close, deal, wallet } = await open();
    const { escrowContract, escrowId, chainId } = deal.paymentInstructions;
    await press(page, "Accept the delivery");
    await page.getByRole("button", { name: "Sign with Test Wallet" }).waitFor();
    const shown = await page.locator(".move").innerText();
    assert.match(shown, /Pays 2\.45 USDC out of escrow to the seller\. It can't be undone\./);
    assert.match(shown, /Function\s+accept\s+Argument\s+the escrow's id\s+0x/);
    assert.match(shown, /Network\s+Base Sepolia, chain 84532/);
    assert.match(shown, /Gas\s+about [\d.]+ ETH, for at most [\d,]+ gas/);
    const titles = await page.locator(".move code[title]").evaluateAll((all) => all.map((one: any) => one.title));
    assert.includeMembers(
      titles.map((title: string) => title.toLowerCase()),
      [escrowContract.toLowerCase(), escrowId],
    );
    await assertShown(page, "/me/deals/{transactionId}, to be signed");
    assert.deepEqual(wallet.asked, [], "nothing before the button");

    await press(page, "Sign with Test Wallet");
    await page.getByText(/^Done in block [\d,]+\. The deal is now: Released\.$/).waitFor();
    const [asked] = wallet.asked;
    assert.ok(asked !== undefined);
    assert.strictEqual(asked.to.toLowerCase(), escrowContract.toLowerCase());
    assert.strictEqual(asked.data, encodeFunctionData({ abi: escrowAbi, functionName: "accept", args: [escrowId] }));
    assert.deepEqual([asked.value, asked.chainId], ["0x0", numberToHex(chainId)]);
    assert.strictEqual(await statusOf(deal), "released");
    await page.getByText("Nothing: the deal has ended.").waitFor();
    assert.strictEqual(await page.getByRole("button", { name: "Dispute the delivery" }).count(), 0);
    await close();
    assert.deepEqual(unexpected(faults), []);
  });

  it("openDispute: on another chain, after a refusal, and to the disputed deal", async () => {
    const { page, faults, close, deal, wallet } = await open();
    wallet.chainId = BASE_CHAIN;
    await press(page, "Dispute the delivery");
    await page.getByText("Test Wallet is on chain 8453. This deal is on Base Sepolia, which is chain 84532.").waitFor();
    wallet.refuses = "wallet_switchEthereumChain";
    await press(page, "Switch to Base Sepolia");
    await page.getByText("You refused in Test Wallet. Nothing was signed.").waitFor();
    wallet.refuses = undefined;
    await press(page, "Try again");
    await press(page, "Switch to Base Sepolia");
    wallet.refuses = "eth_sendTransaction";
    await press(page, "Sign with Test Wallet");
    await page.getByText("You refused in Test Wallet. Nothing was signed.").waitFor();
    assert.deepEqual(wallet.asked, []);
    assert.strictEqual(await statusOf(deal), "delivered");
    wallet.refuses = undefined;
    await press(page, "Try again");
    // The wallet leaves the chain between the preview and the signature.
    await page.getByRole("button", { name: "Sign with Test Wallet" }).waitFor();
    wallet.chainId = BASE_CHAIN;
    await press(page, "Sign with Test Wallet");
    await page.getByText("Test Wallet is on chain 8453.").waitFor();
    assert.deepEqual(wallet.asked, []);
    await press(page, "Switch to Base Sepolia");
    await press(page, "Sign with Test Wallet");
    await page.getByText(/The deal is now: Disputed\.$/).waitFor();
    await page.getByText(`agent-marketplace dispute ${deal.transactionId} --reason`).waitFor();
    assert.strictEqual(await statusOf(deal), "disputed");
    await close();
    assert.deepEqual(unexpected(faults), []);
  });

  it("refuses another account and terms that the chain doesn't have, and says what a revert is", async () => {
    const { page, close, deal, wallet } = await open();
    wallet.account = privateKeyToAccount(generatePrivateKey());
    await press(page, "Accept the delivery");
    await page.getByText(/^Test Wallet shows 0x.*choose that account in the wallet\. Nothing was signed\.$/).waitFor();
    await press(page, "Close");
    wallet.account = owner.market.buyer.account;

    const { api, chain, buyer } = owner.market;
    const path = `**/api/v1/transactions/${deal.transactionId}`;
    const data = await readTransaction(api, buyer, deal.transactionId);
    const lie = { success: true, data: { ...data, amount: "1000000" } };
    await page.route(path, (route) => route.fulfill({ json: lie }));
    await page.reload();
    await press(page, "Accept the delivery");
    await page.getByText("The chain has another deposit than this page shows. Nothing was signed.").waitFor();
    await page.unroute(path);
    await page.reload();
    assert.deepEqual(wallet.asked, []);

    await press(page, "Accept the delivery");
    await page.getByRole("button", { name: "Sign with Test Wallet" }).waitFor();
    // Another program of the same agent is faster.
    await act(api, chain, buyer, deal.transactionId, "openDispute");
    await press(page, "Sign with Test Wallet");
    await page.getByText(/^Block [\d,]+ has it, and the contract refused it there\./).waitFor();
    await press(page, "Close");
    await page.reload();
    await page.getByText("A ruling or an agreement divides the deposit", { exact: true }).waitFor();
    await close();
  });
});
