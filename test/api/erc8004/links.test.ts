// Identities in the registries of ERC-8004: whose they are is what the registry says.
import { assert } from "chai";

import { createIdentityRegistry } from "../../../api/chain/identity-registry.ts";
import { ChainUnavailableError, WrongChainError } from "../../../api/chain/errors.ts";
import { loadEnv } from "../../../api/config/env.ts";
import { NETWORKS } from "../../../api/config/constants.ts";
import type { Network } from "../../../api/config/constants.ts";
import { NETWORKS as LIVE } from "../../../deploy/networks.ts";
import { assertError, readStack, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { PUBLIC_URL, testVariables } from "../../fixtures/environment.ts";
import { payIdentityTo, payIdentityToNobody, registerIdentity, registryOf } from "../../fixtures/identities.ts";
import { oddNodeTo } from "../../fixtures/odd-node.ts";
import type { OddNode } from "../../fixtures/odd-node.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";

const PATH = "/api/v1/agents/erc8004";
const UNKNOWN_ID = Number.MAX_SAFE_INTEGER;

describe("linking an identity of ERC-8004", () => {
  let api: TestApi;
  let chains: Record<Network, TestChain>;
  let node: OddNode;
  let agent: TestAgent;

  before(async () => {
    chains = { "base-sepolia": await openChain("base-sepolia"), base: await openChain("base") };
    node = await oddNodeTo(chains["base-sepolia"].rpcUrl);
    api = await startTestApi({
      env: { rpcUrls: { "base-sepolia": node.url, base: chains.base.rpcUrl } },
      timings: { registrationMaxAgeMs: 0 },
      oneProcess: "the node stands between this process and its chain",
    });
  });
  beforeEach(async () => {
    agent = await api.registerAgent();
  });
  afterEach(() => {
    node.recover();
  });
  after(async () => {
    await api.close();
    await node.close();
  });

  const link = (caller: TestAgent, network: Network, id: number): Promise<Answer> =>
    api.request("POST", PATH, { key: caller.apiKey, body: { network, id } });
  /** The identities in an agent's file; an agent without any has none. */
  const registrationsOf = async ({ agentId }: TestAgent) => {
    const answer = await api.request("GET", `/agents/${agentId}/registration.json`);
    const { status, body, text } = answer;
    if (status === 404) return [];
    assert.strictEqual(status, 200, text);
    return body.registrations as { agentId: number; agentRegistry: string }[];
  };

  for (const network of NETWORKS) {
    it(`links the caller's identity on ${network}, and says so again when it is repeated`, async () => {
      const id = await registerIdentity(chains[network], agent.account);
      const { status, body, text } = await link(agent, network, id);
      assert.strictEqual(status, 200, text);
      const agentRegistry = `eip155:${LIVE[network].chainId}:${registryOf(chains[network])}`;
      const { linkedAt, ...others } = body.data as { linkedAt: string };
      assert.deepEqual(others, {
        agentId: agent.agentId,
        network,
        id,
        agentRegistry,
        registrationFile: `${PUBLIC_URL}/agents/${agent.agentId}/registration.json`,
      });
      assert.strictEqual((await link(agent, network, id)).body.data.linkedAt, linkedAt);
      assert.deepEqual(await registrationsOf(agent), [{ agentId: id, agentRegistry }]);
    });
  }

  it("keeps one identity a network: the last one", async () => {
    const chain = chains["base-sepolia"];
    const [first, second] = [
      await registerIdentity(chain, agent.account),
      await registerIdentity(chain, agent.account),
    ];
    const other = await registerIdentity(chains.base, agent.account);
    for (const id of [first, second]) assert.strictEqual((await link(agent, "base-sepolia", id)).status, 200);
    assert.strictEqual((await link(agent, "base", other)).status, 200);
    const found = (await registrationsOf(agent)).map(({ agentId }) => agentId);
    assert.sameMembers(found, [second, other]);
  });

  it("refuses an identity of another wallet with the registry's wallet, also if it has none", async () => {
    const chain = chains["base-sepolia"];
    const stranger = await api.registerAgent();
    const id = await registerIdentity(chain, stranger.account);
    const refused = async (agentWallet: string | null) => {
      const answer = await link(agent, "base-sepolia", id);
      assertError(answer, 409, "identity_wallet_mismatch");
      const { walletAddress } = agent;
      assert.deepEqual(answer.body.details, { network: "base-sepolia", id, agentWallet, walletAddress });
    };
    await refused(stranger.walletAddress);
    await payIdentityToNobody(chain, stranger.account, id);
    await refused(null);
    assert.deepEqual(await registrationsOf(agent), []);
  });

  it("takes an identity from the agent that had it before its wallet changed", async () => {
    const chain = chains["base-sepolia"];
    const successor = await api.registerAgent();
    const id = await registerIdentity(chain, agent.account);
    assert.strictEqual((await link(agent, "base-sepolia", id)).status, 200);
    assertError(await link(successor, "base-sepolia", id), 409, "identity_wallet_mismatch");
    await payIdentityTo(chain, agent.account, id, successor.account);
    const answers = await Promise.all([1, 2, 3].map(() => link(successor, "base-sepolia", id)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    );
    assert.deepEqual(await registrationsOf(agent), []);
    assert.lengthOf(await registrationsOf(successor), 1);
    assertError(await link(agent, "base-sepolia", id), 409, "identity_wallet_mismatch");
  });

  it("is 404 for an id that nobody has registered", async () => {
    const answer = await link(agent, "base-sepolia", UNKNOWN_ID);
    assertError(answer, 404, "not_found");
    assert.deepEqual(answer.body.details, { id: String(UNKNOWN_ID) });
  });

  it("is 503 while the chain is unreachable, and links once it is back", async () => {
    const id = await registerIdentity(chains["base-sepolia"], agent.account);
    node.odd = () => ({ kind: "status", status: 503 });
    const refused = await link(agent, "base-sepolia", id);
    assertError(refused, 503, "chain_unavailable");
    assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/);
    node.recover();
    assert.deepEqual(await registrationsOf(agent), []);
    assert.strictEqual((await link(agent, "base-sepolia", id)).status, 200);
  });

  it("believes no server of another chain, and no address without a registry", async () => {
    const { rpcUrl } = chains.base;
    const address = registryOf(chains["base-sepolia"]);
    const other = createIdentityRegistry({ network: "base-sepolia", rpcUrl, address });
    await rejectionOf(other.read(0), WrongChainError);
    const none = createIdentityRegistry({ network: "base", rpcUrl, address: `0x${"12".repeat(20)}` });
    await rejectionOf(none.read(0), ChainUnavailableError);
  });

  it("asks the published registries unless others are configured", async () => {
    const variables = { ...testVariables(await readStack()), MONGODB_URI: "mongodb://127.0.0.1" };
    const { identityRegistries } = loadEnv(variables);
    for (const network of NETWORKS) assert.strictEqual(identityRegistries[network], LIVE[network].erc8004.identity);
    const own = "0x00000000000000000000000000000000000000aa";
    const set = loadEnv({ ...variables, ERC8004_IDENTITY_REGISTRY_BASE: own }).identityRegistries;
    assert.strictEqual(set.base.toLowerCase(), own);
    assert.throws(
      () => loadEnv({ ...variables, ERC8004_IDENTITY_REGISTRY_BASE: "0x12" }),
      /ERC8004_IDENTITY_REGISTRY_BASE must be an address/,
    );
  });
});
