import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

import { assert } from "chai";
import { generatePrivateKey, mnemonicToAccount, privateKeyToAddress } from "viem/accounts";
import { toHex } from "viem";

import { ChainCheck, requireRightWallet } from "../../../cli/src/wallet/chain-check.ts";
import { parseLimits } from "../../../cli/src/wallet/limits.ts";
import {
  approve,
  createWallet,
  defaultPlace,
  findWallet,
  openWallet,
  repin,
  setLimits,
} from "../../../cli/src/wallet/wallet.ts";
import type { WalletPlace } from "../../../cli/src/wallet/wallet.ts";
import { WalletError } from "../../../cli/src/wallet/wallet-error.ts";
import type { WalletFault } from "../../../cli/src/wallet/wallet-error.ts";
import { ToolRefusal } from "../../../tools/src/index.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { errorOf, rejectionOf } from "../../fixtures/rejection.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { newPlace, PASSWORD, SCRYPT_COST, startLyingServer, WIDE } from "../../fixtures/wallets.ts";
import type { LyingServer } from "../../fixtures/wallets.ts";

const STRANGER = "0x00000000000000000000000000000000000c0ffe";

describe("the wallet's set-up", () => {
  let api: TestApi;
  let chain: TestChain;
  let liar: LyingServer;
  let place: WalletPlace;
  let remove: () => Promise<void>;

  before(async () => {
    api = await startTestApi();
    chain = await openChain("base-sepolia");
    liar = await startLyingServer(api.url);
  });
  beforeEach(async () => {
    ({ place, remove } = await newPlace());
    liar.lie = undefined;
  });
  afterEach(() => remove());
  after(async () => {
    await liar.close();
    await api.close();
  });

  const init = (fields: { importedKey?: string } = {}) => {
    const rpcUrls = { "base-sepolia": chain.rpcUrl };
    return createWallet({ place, password: PASSWORD, url: liar.url, rpcUrls, scryptCost: SCRYPT_COST, ...fields });
  };
  const open = () => openWallet({ place, password: PASSWORD });
  const fault = async (code: WalletFault, work: Promise<unknown>) => {
    const error = await rejectionOf(work, WalletError);
    assert.strictEqual(error.code, code, error.message);
    return error;
  };

  it("makes a wallet for the local stack, and lists it there", async () => {
    assert.isUndefined(await findWallet(place));
    const { address, isStackWallet } = await init();
    assert.isTrue(isStackWallet);
    assert.strictEqual((await findWallet(place))?.toLowerCase(), address.toLowerCase());
    const listed = JSON.parse(await readFile(join(place.stateDir, "stack-wallets.json"), "utf8")) as string[];
    assert.deepEqual(listed, [address]);
    const wallet = await open();
    assert.strictEqual(wallet.address, address);
    assert.deepEqual(
      wallet.pins.networks.map(({ escrow }) => escrow),
      [chain.deployment.escrow],
    );
    await fault("wallet_exists", init());
    await fault("wrong_password", openWallet({ place, password: "another one" }));
  });

  it("imports accounts of the stack and wallets that were made for it, and no other", async () => {
    const importedKey = generatePrivateKey();
    const { message } = await fault("not_a_stack_wallet", init({ importedKey }));
    assert.include(message, "could be used on the live chain");
    assert.notInclude(message, importedKey.slice(2));
    assert.isUndefined(await findWallet(place));
    const ofStack = mnemonicToAccount("test test test test test test test test test test test junk", {
      addressIndex: 5,
    });
    const key = toHex(ofStack.getHdKey().privateKey ?? new Uint8Array());
    assert.strictEqual((await init({ importedKey: key })).address, ofStack.address);
    await rm(place.dir, { recursive: true });
    await writeFile(join(place.stateDir, "stack-wallets.json"), JSON.stringify([privateKeyToAddress(importedKey)]));
    assert.isTrue((await init({ importedKey })).isStackWallet);
    await fault("invalid_key", init({ importedKey: "0x12" }));
  });

  it("signs nothing on a chain for which the wallet wasn't made, nor by a node of another chain", async () => {
    for (const isStackWallet of [true, false]) {
      const { code } = errorOf(() => {
        requireRightWallet(isStackWallet, !isStackWallet, "base");
      }, WalletError);
      assert.strictEqual(code, isStackWallet ? "stack_wallet" : "not_a_stack_wallet");
    }
    await init();
    const { pins } = await open();
    await fault("not_a_stack_wallet", new ChainCheck({ ...pins, isStackWallet: false }).require(84_532));
    await fault("other_chain", new ChainCheck(pins).require(8_453));
    const networks = pins.networks.map((pin) => ({ ...pin, chainId: 8_453 }));
    await fault("other_chain", new ChainCheck({ ...pins, networks }).require(8_453));
  });

  it("pins nothing that contradicts what everybody knows", async () => {
    const changes = [
      { chainId: 1 },
      { tokens: [{ symbol: "USDC", address: STRANGER, decimals: 6 }] },
      { tokens: [{ symbol: "USDC", address: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", decimals: 18 }] },
    ];
    for (const change of changes) {
      liar.lie = (_path, body) => ({ ...body, data: body.data.map((network: object) => ({ ...network, ...change })) });
      await fault("pins_differ", init());
    }
  });

  it("pins again with the password alone", async () => {
    await init();
    const rpcUrls = { "base-sepolia": chain.rpcUrl };
    await fault("wrong_password", repin(place, "another one", { url: api.url, rpcUrls }));
    assert.strictEqual((await repin(place, PASSWORD, { url: api.url, rpcUrls })).url, api.url);
    assert.strictEqual((await open()).pins.url, api.url);
  });

  it("opens with no pins that are missing, altered or another wallet's", async () => {
    await init();
    const file = join(place.dir, "pins.json");
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace(chain.deployment.escrow, STRANGER));
    await fault("pins_broken", open());
    await rm(file);
    await fault("pins_broken", open());
    await writeFile(file, text, { mode: 0o600 });
    await open();
    await writeFile(file, await readFile(join(place.dir, "limits.json"), "utf8"));
    await fault("pins_broken", open());
  });

  it("takes limits with the password alone, and none that are missing, altered or earlier", async () => {
    await init();
    const wallet = await open();
    const file = join(place.dir, "limits.json");
    const earlier = await readFile(file, "utf8");
    await fault("wrong_password", setLimits(place, "another one", WIDE));
    await setLimits(place, PASSWORD, { ...WIDE, perDealUsd: "7" });
    assert.strictEqual((await wallet.limits()).perDealUsd, "7");
    const latest = await readFile(file, "utf8");
    for (const text of [earlier, latest.replace('"7"', '"8"'), "", "{}"]) {
      await writeFile(file, text);
      await fault("limits_broken", wallet.limits());
    }
    await rm(file);
    await fault("limits_broken", wallet.limits());
    await writeFile(file, latest, { mode: 0o600 });
    assert.strictEqual((await wallet.limits()).perDealUsd, "7");
  });

  it("names each field of limits that can't be used", () => {
    for (const perDealUsd of ["", "-1", "1e3", "0x1", "1.0000001", "1,5", " 1", "NaN", 5]) {
      const error = errorOf(() => parseLimits({ ...WIDE, perDealUsd }), WalletError);
      assert.include(error.message, "perDealUsd: ");
    }
    const bad = { ...WIDE, sellers: ["0x1"], networks: ["mainnet"], more: 1 };
    const { message } = errorOf(() => parseLimits(bad), WalletError);
    for (const field of ["sellers.0", "networks.0", "more"]) assert.include(message, field);
  });

  it("approves nothing that doesn't wait", async () => {
    await init();
    await fault("approval_unknown", approve(place, PASSWORD, "abcdef0123"));
    await fault("approval_unknown", approve(place, PASSWORD, "ledger-abcdef012345"));
  });

  it("counts on where a wallet that is imported again has stopped", async () => {
    const ofStack = mnemonicToAccount("test test test test test test test test test test test junk", {
      addressIndex: 6,
    });
    const importedKey = toHex(ofStack.getHdKey().privateKey ?? new Uint8Array());
    await init({ importedKey });
    await rm(place.dir, { recursive: true });
    const { refusal } = await rejectionOf(init({ importedKey }), ToolRefusal);
    assert.strictEqual(refusal.code, "confirmation_required");
    const id = /approve (ledger-\w+)/.exec(refusal.whatToDo)?.[1] ?? "";
    assert.include(await approve(place, PASSWORD, id), "new ledger");
    await setLimits(place, PASSWORD, WIDE);
    assert.deepEqual(await (await open()).spent(), { todayUsd: 0n, totalUsd: 0n });
  });

  it("writes the key into no file but the keystore, and there encrypted", async () => {
    const importedKey = generatePrivateKey();
    const { address } = await init();
    await rm(place.dir, { recursive: true });
    await writeFile(
      join(place.stateDir, "stack-wallets.json"),
      JSON.stringify([address, privateKeyToAddress(importedKey)]),
    );
    await init({ importedKey });
    const wallet = await open();
    const shown = JSON.stringify(
      [wallet, wallet.account, wallet.pins, await wallet.limits()],
      (_name, value: unknown) => (typeof value === "bigint" ? String(value) : value),
    );
    const texts = [shown];
    for (const folder of [place.dir, place.stateDir]) {
      for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
        if (entry.isFile()) texts.push(await readFile(join(entry.parentPath, entry.name), "utf8"));
      }
    }
    assert.isAbove(texts.length, 5);
    for (const text of texts) assert.notInclude(text.toLowerCase(), importedKey.slice(2));
  });

  it("lies where the XDG variables say, and otherwise in the home directory", () => {
    const env = { XDG_DATA_HOME: "/data", XDG_STATE_HOME: "/state" };
    assert.deepEqual(defaultPlace(env), { dir: "/data/agent-marketplace", stateDir: "/state/agent-marketplace" });
    assert.strictEqual(defaultPlace({}).dir, join(homedir(), ".local", "share", "agent-marketplace"));
  });
});
