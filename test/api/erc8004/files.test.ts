// The files of ERC-8004, by the text of the standard.
import { assert } from "chai";

import { MAX_REGISTRATIONS } from "../../../api/features/erc8004/files.ts";
import { linkIdOf } from "../../../api/features/erc8004/model.ts";
import { ADMIN_KEY } from "../../../scripts/testing/admin-key.ts";
import { assertError, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { PUBLIC_URL } from "../../fixtures/environment.ts";
import { STANDARD_DOMAIN_FILE, STANDARD_EXAMPLE, STANDARD_FILE } from "../../fixtures/erc8004-registration.ts";
import { registerIdentity, registryOf } from "../../fixtures/identities.ts";
import { moderationCalls } from "../../fixtures/moderation.ts";
import { registrationBody } from "../../fixtures/sign-in.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";

const DOMAIN = "/.well-known/agent-registration.json";
const SECRET_URL = "https://jobs.example.org/hidden-endpoint";

describe("the files of ERC-8004", () => {
  let api: TestApi;
  let chain: TestChain;
  let agent: TestAgent;
  let identityId: number;
  const { decided } = moderationCalls(() => api);
  const fileOf = ({ agentId }: TestAgent) => `/agents/${agentId}/registration.json`;

  before(async () => {
    chain = await openChain("base-sepolia");
    api = await startTestApi({ timings: { registrationMaxAgeMs: 0 }, env: { adminApiKey: ADMIN_KEY } });
    const { account, privateKey, body: named } = await registrationBody({ agentName: "Ledger <b>bot</b>" });
    const described = { body: { ...named, description: 'Reads "ledgers".' } };
    const registered = await api.request("POST", "/api/v1/auth/register", described);
    agent = { ...registered.body, account, privateKey } as TestAgent;
    const body = listingBody({ endpointUrl: SECRET_URL });
    const listed = await api.request("POST", "/api/v1/services", { key: agent.apiKey, body });
    assert.strictEqual(listed.status, 201, listed.text);
    identityId = await registerIdentity(chain, agent.account, PUBLIC_URL + fileOf(agent));
    const linked = { network: "base-sepolia", id: identityId };
    const answer = await api.request("POST", "/api/v1/agents/erc8004", { key: agent.apiKey, body: linked });
    assert.strictEqual(answer.status, 200, answer.text);
  });
  after(() => api.close());

  /** Stores that an agent has linked an identity of its own. */
  async function storeLink(to: TestApi, { agentId }: TestAgent): Promise<void> {
    const agentRegistry = `eip155:8453:${registryOf(chain)}`;
    await to.container.features.erc8004.models.links.create({
      _id: linkIdOf(agentId, "base"),
      agentId,
      network: "base",
      agentRegistry,
      identityId: 1,
      identity: `${agentRegistry}:${agentId}`,
      linkedAt: new Date(0),
    });
  }

  const registration = () => ({ agentId: identityId, agentRegistry: `eip155:84532:${registryOf(chain)}` });

  it("have a schema that takes the standard's own example", () => {
    assert.deepEqual<unknown>(STANDARD_FILE.parse(STANDARD_EXAMPLE), STANDARD_EXAMPLE);
  });

  it("describe an agent as the standard has it, and lead to its page and to the tools", async () => {
    const { status, headers, body } = await api.request("GET", fileOf(agent));
    assert.deepEqual([status, headers.get("content-type")], [200, "application/json; charset=utf-8"]);
    const { image, ...file } = STANDARD_FILE.parse(body);
    assert.match(image, /^data:image\/svg\+xml,/);
    assert.deepEqual(file, {
      type: "https://eips.ethereum.org/EIPS/eip-8004#registration-v1",
      name: "Ledger <b>bot</b>",
      description: 'Reads "ledgers".',
      services: [
        { name: "web", endpoint: `${PUBLIC_URL}/agents/${agent.walletAddress.toLowerCase()}` },
        { name: "MCP", endpoint: `${PUBLIC_URL}/mcp` },
      ],
      x402Support: false,
      active: true,
      registrations: [registration()],
      supportedTrust: ["reputation", "crypto-economic"],
    });
  });

  it("list the service's identities for its domain", async () => {
    const { status, headers, body } = await api.request("GET", DOMAIN);
    assert.deepEqual([status, headers.get("content-type")], [200, "application/json; charset=utf-8"]);
    assert.deepEqual(STANDARD_DOMAIN_FILE.parse(body).registrations, [registration()]);
  });

  it("list those that were linked last, a thousand of them", async () => {
    const crowded = await startTestApi({ oneProcess: "its database is filled by hand" });
    const { links } = crowded.container.features.erc8004.models;
    const agentRegistry = `eip155:84532:${registryOf(chain)}`;
    await links.insertMany(
      Array.from({ length: MAX_REGISTRATIONS + 1 }, (_, identityId) => ({
        _id: `agt_${identityId}:base-sepolia`,
        agentId: `agt_${identityId}`,
        network: "base-sepolia" as const,
        agentRegistry,
        identityId,
        identity: `${agentRegistry}:${identityId}`,
        linkedAt: new Date(identityId * 1_000),
      })),
    );
    const { body, text } = await crowded.request("GET", DOMAIN);
    const found = STANDARD_DOMAIN_FILE.parse(body).registrations.map(({ agentId }) => agentId);
    assert.deepEqual(
      found,
      Array.from({ length: MAX_REGISTRATIONS }, (_, place) => MAX_REGISTRATIONS - place),
    );
    assert.isBelow(Buffer.byteLength(text), 120_000);
    await crowded.close();
  });

  it("[D58] are 404 until their agent links an identity, and show nothing of it", async () => {
    const silent = await api.registerAgent({ agentName: "Silent" });
    assertError(await api.request("GET", fileOf(silent)), 404, "not_found");
    await storeLink(api, silent);
    const { body } = await api.request("GET", fileOf(silent));
    assert.strictEqual(STANDARD_FILE.parse(body).name, "Silent");
  });

  it("show nowhere where an agent's jobs go", async () => {
    for (const path of [fileOf(agent), DOMAIN]) {
      assert.notInclude((await api.request("GET", path)).text, "hidden-endpoint", path);
    }
  });

  it("say that a suspended agent isn't active, until it is restored", async () => {
    const suspended = await api.registerAgent();
    await storeLink(api, suspended);
    const isActive = async () => STANDARD_FILE.parse((await api.request("GET", fileOf(suspended))).body).active;
    await decided("suspend", "agent", suspended.agentId);
    assert.isFalse(await isActive());
    await decided("restore", "agent", suspended.agentId);
    assert.isTrue(await isActive());
  });

  it("are 404 for an unknown agent", async () => {
    for (const id of [`agt_${"0".repeat(32)}`, "x", agent.walletAddress, "%7B%22$gt%22:%22%22%7D"]) {
      assertError(await api.request("GET", `/agents/${id}/registration.json`), 404, "not_found");
    }
    assertError(await api.request("GET", `${fileOf(agent)}?x=1`), 400, "validation_error");
  });

  it("are 304 to those who have them, and count towards no window", async () => {
    for (const path of [fileOf(agent), DOMAIN]) {
      const first = await api.request("GET", path);
      assert.strictEqual(first.headers.get("cache-control"), "public, max-age=30");
      const headers = { "if-none-match": first.headers.get("etag") ?? "" };
      const again = await api.request("GET", path, { headers });
      assert.deepEqual([again.status, again.text], [304, ""], path);
      assert.strictEqual(again.headers.get("x-ratelimit-remaining"), again.headers.get("x-ratelimit-limit"), path);
    }
  });

  it("are kept for everyone; a new one counts as a call of the client that asks for it", async () => {
    const { limits } = api.container.env;
    const rateLimits = { ...limits.rateLimits, keyless: 2 };
    const limited = await startTestApi({
      env: { limits: { ...limits, rateLimits } },
      oneProcess: "each keeps its own",
    });
    const [first, second, third] = [
      await limited.registerAgent(),
      await limited.registerAgent(),
      await limited.registerAgent(),
    ];
    for (const one of [first, second, third]) await storeLink(limited, one);
    for (const one of [first, first, first, second, first]) {
      assert.strictEqual((await limited.request("GET", fileOf(one))).status, 200);
    }
    assertError(await limited.request("GET", fileOf(third)), 429, "rate_limit_exceeded");
    assert.strictEqual((await limited.request("GET", fileOf(second))).status, 200);
    await limited.close();
  });
});
