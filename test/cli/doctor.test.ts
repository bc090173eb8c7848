import { chmod, readFile, writeFile } from "node:fs/promises";

import { assert } from "chai";

import { startTestApi } from "../fixtures/api.ts";
import type { TestAgent, TestApi } from "../fixtures/api.ts";
import { CliHome, runCli } from "../fixtures/cli.ts";

interface Finding {
  check: string;
  status: string;
  detail: string;
  remedy: string | null;
}

describe("the doctor of the command line", () => {
  let api: TestApi;
  let agent: TestAgent;
  let home: CliHome;

  before(async () => {
    api = await startTestApi();
    agent = await api.registerAgent();
  });
  beforeEach(async () => {
    home = await CliHome.make();
    await home.signIn(api, agent);
  });
  afterEach(() => home.remove());
  after(() => api.close());

  const changeProfile = async (change: (profile: any) => void): Promise<void> => {
    const profile = JSON.parse(await readFile(home.profileFile, "utf8"));
    change(profile);
    await writeFile(home.profileFile, JSON.stringify(profile));
  };
  const findings = async (): Promise<{ code: number | null; found: Finding[] }> => {
    const { code, stdout } = await home.run(["doctor", "--json"]);
    return { code, found: JSON.parse(stdout).findings };
  };
  const findingOf = async (check: string): Promise<Finding> => {
    const { code, found } = await findings();
    const finding = found.find((candidate) => candidate.check === check);
    assert.ok(finding, JSON.stringify(found));
    assert.strictEqual(code, found.some(({ status }) => status === "problem") ? 1 : 0);
    return finding;
  };

  it("finds nothing wrong with a whole set-up, and never shows the key", async () => {
    const { code, found } = await findings();
    assert.deepEqual(
      found.filter(({ status }) => status === "problem"),
      [],
    );
    assert.strictEqual(code, 0);
    assert.includeMembers(
      found.map(({ check }) => check),
      ["profile", "service", "clock", "API key", "base-sepolia", "base"],
    );
    const shown = await home.show(["doctor"]);
    assert.include(shown, "ok      API key: is valid");
    assert.notInclude(shown + JSON.stringify(found), agent.apiKey);
  });

  it("finds a profile that others can read, or that is none", async () => {
    await chmod(home.profileFile, 0o640);
    assert.include((await findingOf("profile")).remedy, "chmod 600");
    await chmod(home.profileFile, 0o600);
    await writeFile(home.profileFile, "{");
    assert.include(await findingOf("profile"), { status: "problem" });
  });

  it("finds a service that isn't there", async () => {
    await changeProfile((profile) => (profile.url = "http://127.0.0.1:1"));
    assert.include(await findingOf("service"), { status: "problem", detail: "http://127.0.0.1:1 gives no answer" });
  });

  it("finds a key that has ended", async () => {
    await changeProfile((profile) => (profile.apiKey = "svc_unknown"));
    const { status, remedy } = await findingOf("API key");
    assert.strictEqual(status, "problem");
    assert.include(remedy, "agent-marketplace keys new");
  });

  it("finds an RPC server of another chain, and one that isn't there", async () => {
    await changeProfile(({ rpcUrls }) => (rpcUrls["base-sepolia"] = rpcUrls.base));
    const other = await findingOf("base-sepolia");
    assert.strictEqual(other.status, "problem");
    assert.include(other.detail, "is chain 8453, not 84532");
    await changeProfile(({ rpcUrls }) => (rpcUrls["base-sepolia"] = "http://127.0.0.1:1"));
    assert.include(await findingOf("base-sepolia"), { status: "warning" });
  });

  it("says how to begin without a profile", async () => {
    const env = { AGENT_MARKETPLACE_URL: api.url, XDG_CONFIG_HOME: "/nonexistent" };
    const { code, stdout } = await runCli(["doctor"], env);
    assert.strictEqual(code, 1);
    assert.include(stdout, "problem API key: there is none\n        → Run `agent-marketplace init`");
  });
});
