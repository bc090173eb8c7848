// A payout that the token refused, in a real browser: found on the chain through the wallet, and withdrawn.
import { assert } from "chai";
import type { Page } from "playwright-core";
import { createWalletClient, encodeFunctionData, http, parseAbi } from "viem";
import type { Hex } from "viem";

import { escrowAbi } from "../../api/chain/abis.ts";
import { act } from "../fixtures/deals.ts";
import { InjectedWallet } from "../fixtures/injected-wallet.ts";
import { OwnerBrowser, unexpected } from "../fixtures/owner-browser.ts";
import { assertShown } from "../fixtures/page-checks.ts";

const denyAbi = parseAbi([
  "function blacklister() view returns (address)",
  "function blacklist(address account)",
  "function unBlacklist(address account)",
]);
const ELSEWHERE = 1;
const GAS_WEI = 10n ** 19n;

describe("an owner's credits in a browser", () => {
  let owner: OwnerBrowser;
  before(async () => {
    owner = await OwnerBrowser.start();
  });
  after(() => owner.close());

  const press = (page: Page, name: string) => page.getByRole("button", { name }).click();
  const usdc = (): Hex => {
    const token = owner.market.chain.deployment.tokens.find(({ symbol }) => symbol === "USDC");
    assert.ok(token !== undefined);
    return token.address;
  };
  /** Puts the seller on the token's deny list, or takes it off. */
  const deny = async (functionName: "blacklist" | "unBlacklist") => {
    const { chain, seller } = owner.market;
    const { client } = chain;
    const token = usdc();
    const blacklister = await client.readContract({ address: token, abi: denyAbi, functionName: "blacklister" });
    await client.setBalance({ address: blacklister, value: GAS_WEI });
    await client.impersonateAccount({ address: blacklister });
    const data = encodeFunctionData({ abi: denyAbi, functionName, args: [seller.account.address] });
    const wallet = createWalletClient({ chain: client.chain, transport: http(chain.rpcUrl) });
    const hash = await wallet.sendTransaction({ account: blacklister, to: token, data });
    assert.strictEqual((await client.waitForTransactionReceipt({ hash })).status, "success");
  };
  const creditOfSeller = () => {
    const { chain, seller } = owner.market;
    return chain.client.readContract({
      address: chain.deployment.escrow,
      abi: escrowAbi,
      functionName: "creditOf",
      args: [seller.account.address, usdc()],
    });
  };

  it("are none at first, and nothing is asked of the wallet before the button", async () => {
    const { market } = owner;
    const wallet = new InjectedWallet(market.buyer.account, market.chain);
    const { page, faults, close } = await owner.signIn(wallet, "/me");
    await page.getByText("A payout that a token refused stays in escrow for you").waitFor();
    wallet.chainId = ELSEWHERE;
    await press(page, "Look for credits");
    await page.getByText("Test Wallet is on chain 1, which this service doesn't serve.").waitFor();
    wallet.chainId = market.chain.client.chain.id;
    await press(page, "Look again");
    await page.getByText("Nothing is credited to your agent on Base Sepolia.").waitFor();
    await close();
    assert.deepEqual(unexpected(faults), []);
  });

  it("are withdrawn by a transaction that the page writes itself", async () => {
    const { api, chain, buyer, seller } = owner.market;
    const deal = await owner.delivered({ answer: 42 });
    await deny("blacklist");
    await act(api, chain, buyer, deal.transactionId, "accept");
    const credit = await creditOfSeller();
    assert.strictEqual(credit, 2_450_000n);
    const wallet = new InjectedWallet(seller.account, chain);
    const { page, faults, close } = await owner.signIn(wallet, "/me");
    await press(page, "Look for credits");
    await press(page, "Withdraw 2.45 USDC");
    await page.getByText("Nothing was signed.").waitFor();
    assert.deepEqual(wallet.asked, [], "the token still refuses");

    await deny("unBlacklist");
    const before = await chain.usdcOf(seller.account.address);
    await press(page, "Look again");
    await press(page, "Withdraw 2.45 USDC");
    await page.getByText("Pays 2.45 USDC out of escrow to you.").waitFor();
    await assertShown(page, "/me, a credit to be signed");
    wallet.refuses = "eth_sendTransaction";
    await press(page, "Sign with Test Wallet");
    await page.getByText("You refused in Test Wallet. Nothing was signed.").waitFor();
    wallet.refuses = undefined;
    await press(page, "Look again");
    await press(page, "Withdraw 2.45 USDC");
    await press(page, "Sign with Test Wallet");
    await page.getByText(/^Done in block [\d,]+: 2\.45 USDC went to 0x/).waitFor();
    const [asked] = wallet.asked;
    assert.strictEqual(asked?.to.toLowerCase(), chain.deployment.escrow.toLowerCase());
    assert.strictEqual(asked?.data, encodeFunctionData({ abi: escrowAbi, functionName: "withdraw", args: [usdc()] }));
    assert.strictEqual((await chain.usdcOf(seller.account.address)) - before, credit);
    assert.strictEqual(await creditOfSeller(), 0n);
    await press(page, "Look again");
    await page.getByText("Nothing is credited to your agent on Base Sepolia.").waitFor();
    await close();
    assert.deepEqual(unexpected(faults), []);
  });
});
