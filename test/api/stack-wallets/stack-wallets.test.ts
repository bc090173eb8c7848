// The wallets of the local stack: it makes them and lists them, takes no other from a page, and is nowhere else.
import { assert } from "chai";
import { erc20Abi, parseEther } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import type { PrivateKeyAccount } from "viem/accounts";

import { NETWORKS } from "../../../api/config/constants.ts";
import type { Network } from "../../../api/config/constants.ts";
import { ConfigurationError, loadEnv } from "../../../api/config/env.ts";
import { LISTING_STATEMENT } from "../../../api/features/stack-wallets/stack-wallets.ts";
import { localAccount } from "../../../scripts/local/facts.ts";
import { assertError, assertInvalid, readStack, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestApi } from "../../fixtures/api.ts";
import { startApiProcess } from "../../fixtures/api-process.ts";
import { testVariables } from "../../fixtures/environment.ts";
import { movedClock } from "../../fixtures/limits.ts";
import { oddNodeTo } from "../../fixtures/odd-node.ts";
import type { OddNode } from "../../fixtures/odd-node.ts";
import { askSession, sameOrigin, SESSION_STATEMENTS, SESSIONS } from "../../fixtures/page-session.ts";
import { errorOf } from "../../fixtures/rejection.ts";
import { KEY_STATEMENT, signInMessage } from "../../fixtures/sign-in.ts";
import type { SignInFields } from "../../fixtures/sign-in.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";

const WALLETS = "/api/v1/stack/wallets";
const LISTED = `${WALLETS}/listed`;
const REGISTER = "/api/v1/auth/register";
const HOUR_MS = 3_600_000;
/** Accounts of every local stack: the contracts' roles, three printed wallets, and the keeper among the rest. */
const STACK_ACCOUNTS = 11;

/** How browsers mark the requests of pages, of this service or of another. */
const PAGES = [sameOrigin(), { origin: "https://other.test" }, { "sec-fetch-site": "cross-site" }];

const newAccount = () => privateKeyToAccount(generatePrivateKey());

async function signed(account: PrivateKeyAccount, fields: SignInFields) {
  const message = signInMessage(account.address, fields);
  return { message, signature: await account.signMessage({ message }) };
}

describe("the wallets of the local stack", () => {
  let chains: Record<Network, TestChain>;
  before(async () => {
    chains = { "base-sepolia": await openChain("base-sepolia"), base: await openChain("base") };
  });

  describe("there", () => {
    const clock = movedClock();
    let api: TestApi;
    before(async () => {
      api = await startTestApi({ env: { isLocalStack: true }, clock });
    });
    after(() => api.close());
    // Each test has the whole hour of its address.
    beforeEach(() => {
      clock.pass(HOUR_MS);
    });

    const fields = () => ({ issuedAt: clock.now() });
    const make = (headers: Record<string, string> = {}) => api.request("POST", WALLETS, { body: {}, headers });
    const list = async (account: PrivateKeyAccount, statement = LISTING_STATEMENT) =>
      api.request("POST", LISTED, { body: await signed(account, { ...fields(), statement }) });
    const register = async (account: PrivateKeyAccount, headers: Record<string, string> = {}) => {
      const body = { agentName: "Owl", walletAddress: account.address, ...(await signed(account, fields())) };
      return api.request("POST", REGISTER, { body, headers });
    };
    const signIn = (account: PrivateKeyAccount) => askSession(api, { account }, { fields: fields() });
    const stored = () => api.container.features.stackWallets.models.stackWallets.find().lean();
    const assertRefused = (answer: Answer, { address }: PrivateKeyAccount) => {
      assertError(answer, 403, "wallet_not_of_stack");
      assert.match(answer.body.error, /only wallets made for it/);
      assert.strictEqual(answer.body.details.walletAddress, address);
      assert.include(answer.body.details.hint, "POST /api/v1/stack/wallets");
    };

    it("are made with money on both chains, and their key is shown once and stored nowhere", async () => {
      const { status, body, text } = await make();
      assert.strictEqual(status, 201, text);
      const { address, privateKey, gifts } = body.data;
      const account = privateKeyToAccount(privateKey);
      assert.strictEqual(account.address, address);
      for (const network of NETWORKS) {
        const { client, deployment } = chains[network];
        assert.strictEqual(await client.getBalance({ address }), parseEther("1"), network);
        assert.strictEqual(await chains[network].usdcOf(address), 1_000_000_000n, network);
        const given = gifts.filter((gift: { network: string }) => gift.network === network);
        const symbols = given.map(({ symbol }: { symbol: string }) => symbol);
        assert.deepEqual(symbols, ["ETH", ...deployment.tokens.map(({ symbol }) => symbol)]);
        const weth = deployment.tokens.find(({ symbol }) => symbol === "WETH");
        if (weth !== undefined) {
          const read = { abi: erc20Abi, functionName: "balanceOf", args: [address] } as const;
          assert.strictEqual(await client.readContract({ ...read, address: weth.address }), parseEther("1"));
        }
      }
      const record = (await stored()).find(({ _id }) => _id === address.toLowerCase());
      assert.deepEqual([record?.madeBy, record?.createdAt], ["stack", clock.now()]);
      const { db } = api.container.connection;
      for (const { name } of (await db?.listCollections().toArray()) ?? []) {
        const documents = JSON.stringify(await db?.collection(name).find().toArray());
        assert.notInclude(documents.toLowerCase(), privateKey.slice(2), name);
      }
    });

    it("are made again for each call: a repeat gets no key of another", async () => {
      const headers = { "idempotency-key": "once" };
      const first = await make(headers);
      assert.strictEqual(first.status, 201, first.text);
      const repeated = await make(headers);
      assertError(repeated, 409, "already_processed");
      assert.notInclude(repeated.text, first.body.data.privateKey);
      const other = await make();
      assert.notStrictEqual(other.body.data.address, first.body.data.address);
    });

    it("register and sign in from a page, whether the stack or a program has made them", async () => {
      const made = privateKeyToAccount((await make()).body.data.privateKey);
      const listed = newAccount();
      const answer = await list(listed);
      assert.deepEqual([answer.status, answer.body.data], [200, { address: listed.address }], answer.text);
      for (const account of [made, listed]) {
        assertError(await signIn(account), 404, "wallet_not_registered");
        const registered = await register(account, sameOrigin());
        assert.strictEqual(registered.status, 201, registered.text);
        const opened = await signIn(account);
        assert.strictEqual(opened.status, 201, opened.text);
      }
    });

    it("are those of every stack, too, from the start", async () => {
      for (let index = 0; index < STACK_ACCOUNTS; index += 1) {
        const account = privateKeyToAccount(localAccount(index).privateKey as `0x${string}`);
        assertError(await signIn(account), 404, "wallet_not_registered");
      }
      const next = privateKeyToAccount(localAccount(STACK_ACCOUNTS).privateKey as `0x${string}`);
      assertRefused(await signIn(next), next);
    });

    it("are the only ones that a page registers or signs in; a program registers any", async () => {
      const account = newAccount();
      assertRefused(await signIn(account), account);
      for (const headers of PAGES) assertRefused(await register(account, headers), account);
      assert.isNull(await api.container.features.agents.models.agents.findOne({ walletAddress: account.address }));
      const registered = await register(account);
      assert.strictEqual(registered.status, 201, registered.text);
      assertRefused(await signIn(account), account);
      const { keys } = await api.container.features.limits.models.access
        .findById(registered.body.agentId)
        .lean()
        .orFail();
      assert.lengthOf(keys, 1, "no session was opened");
      await list(account);
      assert.strictEqual((await signIn(account)).status, 201);
    });

    it("are listed by their own signature for this one purpose, as often as it is sent", async () => {
      const account = newAccount();
      for (const statement of [
        "Register this wallet as an agent.",
        KEY_STATEMENT,
        ...Object.values(SESSION_STATEMENTS),
        `${LISTING_STATEMENT} `,
        LISTING_STATEMENT.toLowerCase(),
      ]) {
        assertError(await list(account, statement), 400, "sign_in_message_invalid");
      }
      const body = await signed(account, { ...fields(), statement: LISTING_STATEMENT });
      const other = await newAccount().signMessage({ message: body.message });
      assertError(await api.request("POST", LISTED, { body: { ...body, signature: other } }), 400, "signature_invalid");
      const elsewhere = { domain: "other.test", uri: "https://other.test" };
      const foreign = await signed(account, { ...fields(), ...elsewhere, statement: LISTING_STATEMENT });
      assertError(await api.request("POST", LISTED, { body: foreign }), 400, "sign_in_message_invalid");
      // A page has the wallets of its browser.
      for (const headers of PAGES) assertRefused(await api.request("POST", LISTED, { body, headers }), account);
      assertRefused(await signIn(account), account);
      // The same text, for a caller that lost the answer.
      for (const headers of [{}, {}, sameOrigin()]) {
        const answer = await api.request("POST", LISTED, { body, headers });
        assert.strictEqual(answer.status, 200, answer.text);
      }
      const session = { ...body, scopes: "all" };
      const used = await api.request("POST", SESSIONS, { body: session, headers: sameOrigin() });
      assertError(used, 400, "sign_in_message_invalid");
      const registration = { agentName: "Owl", walletAddress: account.address, ...body };
      assertError(await api.request("POST", REGISTER, { body: registration }), 400, "sign_in_message_invalid");
      assert.strictEqual((await stored()).filter(({ _id }) => _id === account.address.toLowerCase()).length, 1);
    });

    it("are told from others before these sign anything", async () => {
      const made = privateKeyToAccount((await make()).body.data.privateKey);
      const [listed, other] = [newAccount(), newAccount()];
      await list(listed);
      const printed = localAccount(STACK_ACCOUNTS - 1).address as `0x${string}`;
      for (const address of [made.address, listed.address, printed]) {
        for (const written of [address, address.toLowerCase()]) {
          const { body } = await api.request("GET", `${WALLETS}/${written}`);
          assert.deepEqual(body.data, { address, isOfStack: true });
        }
      }
      const { body } = await api.request("GET", `${WALLETS}/${other.address}`);
      assert.deepEqual(body.data, { address: other.address, isOfStack: false });
      for (const wrong of ["0x1", "listed", `${other.address}0`]) {
        assertInvalid(await api.request("GET", `${WALLETS}/${wrong}`), "params.address");
      }
    });

    it("name the field that is wrong", async () => {
      assertInvalid(await api.request("POST", WALLETS, { body: { address: newAccount().address } }), "body.address");
      assertInvalid(await api.request("POST", LISTED, { body: {} }), "body.message", "body.signature");
      const body = { message: "x".repeat(4_001), signature: "0x1", address: newAccount().address };
      assertInvalid(await api.request("POST", LISTED, { body }), "body.message", "body.signature", "body.address");
    });

    it("are made twenty times in an hour for a client, together with the faucet", async () => {
      const faucet = () =>
        api.request("POST", "/api/v1/faucet", { body: { address: newAccount().address, network: "base" } });
      for (let call = 0; call < 19; call += 1) assert.strictEqual((await faucet()).status, 200, String(call));
      assert.strictEqual((await make()).status, 201);
      const count = (await stored()).length;
      for (const refused of [await make(), await faucet()]) {
        assertError(refused, 429, "rate_limit_exceeded");
        assert.deepEqual(refused.body.details, { window: "faucet", countedBy: "address", limit: 20 });
        assert.match(refused.headers.get("retry-after") ?? "", /^3\d\d\d$/);
      }
      assert.lengthOf(await stored(), count);
      clock.pass(HOUR_MS);
      assert.strictEqual((await make()).status, 201);
    });
  });

  describe("raced", () => {
    it("are made exactly as often as an hour allows, and known to every process", async () => {
      const api = await startTestApi({ oneProcess: "only makes the database; the test starts two processes itself" });
      const { name } = api.container.connection;
      const start = () => startApiProcess(name, { LOCAL_STACK: "true" });
      const processes = await Promise.all([start(), start()]);
      const post = async (index: number, path: string, body: unknown, headers: Record<string, string> = {}) => {
        const response = await fetch(`${processes[index % 2]?.url ?? ""}${path}`, {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: JSON.stringify(body),
        });
        return { status: response.status, body: (await response.json()) as any };
      };
      try {
        // The faucet counts in the same hour, and keeps the chains less busy.
        const gift = () => ({ address: newAccount().address, network: "base-sepolia" });
        const gifts = await Promise.all(
          Array.from({ length: 14 }, (_, index) => post(index, "/api/v1/faucet", gift())),
        );
        assert.deepEqual([...new Set(gifts.map(({ status }) => status))], [200]);
        const made = await Promise.all(Array.from({ length: 12 }, (_, index) => post(index, WALLETS, {})));
        const shown = made.filter(({ status }) => status === 201);
        assert.strictEqual(shown.length, 6);
        assert.strictEqual(made.filter(({ status }) => status === 429).length, 6);
        assert.strictEqual(new Set(shown.map(({ body }) => body.data.address as string)).size, 6);
        // Each in the process that hasn't made it.
        for (const [index, { status, body }] of made.entries()) {
          if (status !== 201) continue;
          const account = privateKeyToAccount(body.data.privateKey);
          const signature = await signed(account, { statement: SESSION_STATEMENTS.read });
          const answer = await post(index + 1, SESSIONS, { ...signature, scopes: "read" }, sameOrigin());
          assert.deepEqual([answer.status, answer.body.code], [404, "wallet_not_registered"]);
        }
        const account = newAccount();
        const bodies = await Promise.all(
          Array.from({ length: 8 }, () => signed(account, { statement: LISTING_STATEMENT })),
        );
        const listed = await Promise.all(bodies.map((body, index) => post(index, LISTED, body)));
        assert.deepEqual([...new Set(listed.map(({ status }) => status))], [200]);
        const { stackWallets } = api.container.features.stackWallets.models;
        assert.strictEqual(await stackWallets.countDocuments({ _id: account.address.toLowerCase() }), 1);
      } finally {
        await Promise.all(processes.map((process) => process.stop()));
        await api.close();
      }
    });
  });

  describe("anywhere else", () => {
    let node: OddNode;
    before(async () => {
      node = await oddNodeTo(chains.base.rpcUrl);
    });
    after(() => node.close());

    /** Asserts that both routes are unknown paths. */
    async function assertUnknown(api: TestApi): Promise<void> {
      const body = await signed(newAccount(), { statement: LISTING_STATEMENT });
      for (const [path, sent] of [
        [WALLETS, {}],
        [LISTED, body],
        [LISTED, { nonsense: true }],
      ] as const) {
        const unknown = await api.request("POST", "/api/v1/no-such-route", { body: sent });
        const answer = await api.request("POST", path, { body: sent });
        assert.deepEqual([answer.status, answer.body], [unknown.status, unknown.body], path);
      }
    }

    it("have no route without the stack's own flag, and a page takes every wallet", async () => {
      const api = await startTestApi();
      await assertUnknown(api);
      assertError(await api.request("GET", `${WALLETS}/${newAccount().address}`), 404, "not_found");
      const account = newAccount();
      assertError(await askSession(api, { account }), 404, "wallet_not_registered");
      const body = { agentName: "Owl", walletAddress: account.address, ...(await signed(account, {})) };
      const registered = await api.request("POST", REGISTER, { body, headers: sameOrigin() });
      assert.strictEqual(registered.status, 201, registered.text);
      assert.strictEqual((await askSession(api, { account })).status, 201);
      assert.strictEqual(await api.container.features.stackWallets.models.stackWallets.countDocuments(), 0);
      await api.close();
    });

    it("are neither made nor listed while a node isn't anvil, and others are refused all the same", async () => {
      const { rpcUrl } = chains["base-sepolia"];
      const env = { isLocalStack: true, rpcUrls: { "base-sepolia": rpcUrl, base: node.url } };
      const api = await startTestApi({ env });
      node.odd = (method) =>
        method === "web3_clientVersion" ? { kind: "result", result: "Geth/v1.16.0-stable" } : undefined;
      await assertUnknown(api);
      assert.deepEqual(
        node.seen.filter((method) => /^anvil_|send/i.test(method)),
        [],
      );
      const account = newAccount();
      assertError(await askSession(api, { account }), 403, "wallet_not_of_stack");
      node.odd = undefined;
      assert.strictEqual((await api.request("POST", WALLETS, { body: {} })).status, 201);
      await api.close();
    });

    it("show no key when a chain doesn't take the money, and the next call makes another", async () => {
      const { rpcUrl } = chains["base-sepolia"];
      const env = { isLocalStack: true, rpcUrls: { "base-sepolia": rpcUrl, base: node.url } };
      const api = await startTestApi({ env });
      node.odd = (method) => (method === "eth_sendRawTransaction" ? { kind: "status", status: 502 } : undefined);
      const refused = await api.request("POST", WALLETS, { body: {} });
      assertError(refused, 503, "chain_unavailable");
      assert.notMatch(refused.text, /0x[0-9a-f]{64}/);
      node.recover();
      const { status, text } = await api.request("POST", WALLETS, { body: {} });
      assert.strictEqual(status, 201, text);
      await api.close();
    });

    it("are nowhere in production", async () => {
      const stack = await readStack();
      const variables = { ...testVariables(stack), MONGODB_URI: stack.mongodbUri };
      const load = () => loadEnv({ ...variables, LOCAL_STACK: "true", NODE_ENV: "production" });
      assert.match(errorOf(load, ConfigurationError).message, /LOCAL_STACK must not be true/);
    });
  });
});
