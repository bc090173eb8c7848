// An owner hires in a real browser: the order, the deposit through the wallet, and the accepted delivery.
import { assert } from "chai";
import type { Page } from "playwright-core";
import { numberToHex } from "viem";

import type { PreparedCall } from "../fixtures/stack.ts";
import type { TestAgent } from "../fixtures/api.ts";
import { readTransaction } from "../fixtures/deals.ts";
import { InjectedWallet } from "../fixtures/injected-wallet.ts";
import { OwnerBrowser, unexpected } from "../fixtures/owner-browser.ts";
import { assertShown } from "../fixtures/page-checks.ts";

const BASE_CHAIN = 8_453;
const LATER_MS = 1_200_000;

describe("hiring by an owner in a browser", () => {
  let owner: OwnerBrowser;
  before(async () => {
    owner = await OwnerBrowser.start();
  });
  after(() => owner.close());

  const walletOf = (agent: TestAgent) => new InjectedWallet(agent.account, owner.market.chain);
  const hireAt = () => `/me/hire?service=${owner.market.serviceId}`;
  const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
  const idIn = (page: Page) => new URL(page.url()).pathname.split("/").at(-1) ?? "";
  const read = (transactionId: string) => readTransaction(owner.api, owner.market.buyer, transactionId);
  const sign = "Sign with Test Wallet";

  /** Orders a text on the form, and waits for the deal's page. */
  const order = async (page: Page, text: string) => {
    await page.getByLabel("What you order").fill(text);
    await press(page, "Order");
    await page.getByRole("button", { name: "Pay the deposit", exact: true }).waitFor();
    return idIn(page);
  };

  it("from the listing's page over order, deposit and delivery to the payment", async () => {
    const wallet = walletOf(owner.market.buyer);
    const { page, faults, close } = await owner.signIn(wallet, "/me", "See and act");
    await page.goto(`${owner.url}/listings/${owner.market.serviceId}`);
    await page.getByRole("link", { name: "Hire it here, with the wallet of your browser" }).click();
    await page.getByRole("heading", { name: "What is offered" }).waitFor();
    assert.strictEqual(new URL(page.url()).pathname, "/me/hire");
    await page.getByLabel("What you order").fill('{"token": 0x1}');
    await page.getByLabel("Quantity").fill("0");
    await press(page, "Order");
    await page.getByText("This begins like JSON and isn't any:").waitFor();
    await page.getByText("A whole number from 1 to 1,000,000.", { exact: true }).waitFor();
    await assertShown(page, "/me/hire");

    await page.getByLabel("What you order").fill('{"token": "0x1"}');
    await page.getByLabel("Quantity").fill("2");
    await page.getByLabel("What the result must satisfy").fill("It names the risks.\n\nIt is in English.");
    await page.getByLabel("Time to look").selectOption("1 h");
    // The first answer is lost on its way, and the page is loaded again.
    let first: string | undefined;
    await page.route("**/api/v1/checkout", async (route) => {
      // What the test sends for the page has no such header of the browser's own.
      const headers = { ...(await route.request().allHeaders()), "sec-fetch-site": "same-origin" };
      const answer = await route.fetch({ headers });
      first = ((await answer.json()) as { data: { transactionId: string } }).data.transactionId;
      await route.abort();
    });
    await press(page, "Order");
    await page.getByText("so the order may be there. Try again: it isn't made twice.").waitFor();
    await page.unroute("**/api/v1/checkout");
    await page.reload();
    assert.strictEqual(await page.getByLabel("What you order").inputValue(), '{"token": "0x1"}');
    await press(page, "Order");
    await page.getByRole("button", { name: "Pay the deposit", exact: true }).waitFor();
    const id = idIn(page);
    assert.strictEqual(id, first);
    const deal = await read(id);
    assert.deepEqual(
      [deal.requestPayload, deal.quantity, deal.disputeWindow, deal.amount],
      [{ token: "0x1" }, 2, 3_600, "5000000"],
    );
    const calls = deal.actions as (PreparedCall & { action: string })[];
    const callOf = (name: string) => calls.find(({ action }) => action === name);

    await press(page, "Pay the deposit");
    await page.getByText("First of two: allows the escrow contract to take 5 USDC from your wallet.").waitFor();
    await assertShown(page, "/me/deals/{transactionId}, an allowance to be signed");
    wallet.refuses = "eth_sendTransaction";
    await press(page, sign);
    await page.getByText("You refused in Test Wallet. Nothing was signed.").waitFor();
    wallet.refuses = undefined;
    await press(page, "Try again");
    await press(page, sign);
    await page.getByText("Moves 5 USDC from your wallet into escrow. 0.1 USDC of that is the fee").waitFor();
    await assertShown(page, "/me/deals/{transactionId}, a deposit to be signed");

    // A page that is loaded again between the two goes on with the second.
    await page.reload();
    await press(page, "Pay the deposit");
    await page.getByRole("button", { name: sign }).waitFor();
    assert.match(await page.locator(".move").innerText(), /Function\s+createEscrow\s+Escrow\s+0x/);
    // The wallet leaves the chain between the preview and the signature.
    wallet.chainId = BASE_CHAIN;
    await press(page, sign);
    await page.getByText("Test Wallet is on chain 8453.").waitFor();
    await press(page, "Switch to Base Sepolia");
    await press(page, sign);
    await page.getByText(/^Done in block [\d,]+\. The deal is now: Funded\.$/).waitFor();
    // What the page has written itself is what the service would have had signed.
    assert.deepEqual(
      wallet.asked.map(({ to, data }) => [to.toLowerCase(), data]),
      ["approve", "createEscrow"].map((name) => [callOf(name)?.to.toLowerCase(), callOf(name)?.data]),
    );
    assert.isTrue(wallet.asked.every(({ value, chainId }) => value === "0x0" && chainId === numberToHex(deal.chainId)));
    assert.strictEqual((await read(id)).status, "funded");

    await owner.deliver(id, { answer: 42 });
    await page.reload();
    await press(page, "Accept the delivery");
    await press(page, sign);
    await page.getByText(/The deal is now: Released\.$/).waitFor();
    assert.strictEqual((await read(id)).status, "released");
    await close();
    assert.deepEqual(unexpected(faults, "ERR_FAILED"), []);
  });

  it("not after the quote's end, and once more only when the owner says so", async () => {
    const wallet = walletOf(owner.market.buyer);
    const { page, close } = await owner.signIn(wallet, hireAt(), "See and act");
    const id = await order(page, "A report about one token");
    assert.deepEqual((await read(id)).requestPayload, { text: "A report about one token" });
    await press(page, "Pay the deposit");
    await page.getByRole("button", { name: sign }).waitFor();
    await page.clock.setFixedTime(Date.now() + LATER_MS);
    await press(page, sign);
    await page.getByText("The offer is over: its price held for a while only. Nothing was signed.").waitFor();
    assert.deepEqual(wallet.asked, []);

    await page.goto(owner.url + hireAt());
    await press(page, "Order");
    await page.getByText("Your agent has ordered exactly this before:").waitFor();
    await page.clock.setFixedTime(Date.now());
    await press(page, "Order it once more");
    await page.getByRole("button", { name: "Pay the deposit", exact: true }).waitFor();
    assert.notStrictEqual(idIn(page), id);

    // Another tab knows nothing of the order. The service does.
    const other = await owner.signIn(walletOf(owner.market.buyer), hireAt(), "See and act");
    await other.page.getByLabel("What you order").fill("A report about one token");
    await press(other.page, "Order");
    await other.page.getByRole("link", { name: "look at that deal" }).click();
    await other.page.getByRole("button", { name: "Pay the deposit", exact: true }).waitFor();
    assert.strictEqual(idIn(other.page), id);
    await Promise.all([close(), other.close()]);
  });

  it("not on terms that the page can't answer for, nor without the money", async () => {
    const wallet = walletOf(owner.market.buyer);
    const { page, close } = await owner.signIn(wallet, hireAt(), "See and act");
    const id = await order(page, "Something else");
    const deal = await read(id);
    const lies: readonly [fields: object, said: string][] = [
      [{ escrowContract: owner.market.seller.account.address }, "The service doesn't name this deal's contract"],
      [{ token: owner.market.seller.account.address }, "The service doesn't name this deal's token"],
      [{ criteriaHash: `0x${"1".repeat(64)}` }, "This page can't show the criteria that the deposit would agree to."],
      [{ platformFee: "1" }, "The contract would take another fee than this page shows."],
      [{ buyerAddress: owner.market.seller.account.address }, "Only the deal's buyer can do this."],
      [
        { amount: "200000000", platformFee: "4000000", lockedAmount: "196000000" },
        "holds less USDC than the deposit. Nothing was signed.",
      ],
    ];
    const path = `**/api/v1/transactions/${id}`;
    for (const [fields, said] of lies) {
      await page.route(path, (route) => route.fulfill({ json: { success: true, data: { ...deal, ...fields } } }));
      await page.reload();
      await press(page, "Pay the deposit");
      await page.getByText(said).waitFor();
      await page.unroute(path);
    }
    assert.deepEqual(wallet.asked, []);
    await close();

    const poor = await owner.newAgent("Poor Buyer");
    const { page: other, close: closeOther } = await owner.signIn(walletOf(poor), hireAt(), "See and act");
    await other.getByLabel("What you order").fill("Much");
    await press(other, "Order");
    await other.getByText("Your wallet holds less than the deposit. Nothing was ordered.").waitFor();
    await closeOther();
  });

  it("by no session that only sees, for no listing of one's own, and for none that isn't there", async () => {
    const { buyer, seller } = owner.market;
    const seeing = await owner.signIn(walletOf(buyer), hireAt());
    await seeing.page.getByText("This session only sees. To hire, sign in with “See and act”.").waitFor();
    assert.strictEqual(await seeing.page.getByRole("button", { name: "Order" }).count(), 0);
    await seeing.page.goto(`${owner.url}/me/hire?service=%3Cb%3E`);
    await seeing.page.getByRole("heading", { name: "There is no such listing to hire" }).waitFor();
    await seeing.page.goto(`${owner.url}/me/hire?service=lst_gone`);
    await seeing.page.getByRole("heading", { name: "There is no such listing to hire" }).waitFor();
    await seeing.close();
    const own = await owner.signIn(walletOf(seller), hireAt(), "See and act");
    await own.page.getByText("This is your own agent's listing.").waitFor();
    await own.close();
  });
});
