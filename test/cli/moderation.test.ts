// What an agent tells the operators of a service on the command line, and what it reads of their decisions.
import { assert } from "chai";

import { ADMIN_KEY } from "../../scripts/testing/admin-key.ts";
import { startTestApi } from "../fixtures/api.ts";
import type { TestAgent, TestApi } from "../fixtures/api.ts";
import { CliHome } from "../fixtures/cli.ts";
import { listService } from "../fixtures/deals.ts";
import { AS_ADMIN } from "../fixtures/environment.ts";
import { registerIdentity } from "../fixtures/identities.ts";
import { moderationCalls } from "../fixtures/moderation.ts";
import { openChain } from "../fixtures/stack.ts";

describe("reports, decisions and identities on the command line", () => {
  let api: TestApi;
  let agent: TestAgent;
  let other: TestAgent;
  let home: CliHome;

  before(async () => {
    api = await startTestApi({ env: { adminApiKey: ADMIN_KEY } });
    [agent, other] = await Promise.all([api.registerAgent(), api.registerAgent()]);
    home = await CliHome.make();
    await home.signIn(api, agent);
  });
  after(async () => {
    await home.remove();
    await api.close();
  });

  const { decided } = moderationCalls(() => api);

  it("report a listing once: a retry with the same intent is the same report, and so is another one", async () => {
    const serviceId = await listService(api, other);
    const args = ["report", "listing", serviceId, "--reason", "spam"];
    const words = ["--text", "The same offer ten times."];
    const { report } = await home.ask([...args, ...words, "--intent", "r-1"]);
    const { id, at, ...said } = report;
    const subject = { type: "listing", id: serviceId };
    assert.deepEqual(said, { subject, reason: "spam", text: words[1], state: "open" });
    const repeated = await home.ask([...args, ...words, "--intent", "r-1"]);
    assert.deepEqual(repeated.report, { id, at, ...said });
    assert.include(await home.show(args), `Reported: ${id}.`);
    const found = await api.request("GET", "/api/v1/admin/moderation/reports?limit=100", AS_ADMIN);
    assert.lengthOf(
      (found.body.data as { subject: object }[]).filter(
        (one) => JSON.stringify(one.subject) === JSON.stringify(subject),
      ),
      1,
    );
  });

  it("say which reasons and subjects there are, and what can't be reported", async () => {
    const own = await home.refusal(["report", "agent", agent.agentId, "--reason", "fraud"]);
    assert.strictEqual(own.code, "self_report");
    const unknown = await home.refusal(["report", "message", "msg_none", "--reason", "other"]);
    assert.strictEqual(unknown.code, "not_found");
    const reason = await home.run(["report", "agent", other.agentId, "--reason", "rude"]);
    assert.strictEqual(reason.code, 2);
    assert.include(reason.stderr, "fraud, illegal, harmful, infringement, spam, other");
    const type = await home.run(["report", "deal", "txn_1", "--reason", "fraud"]);
    assert.strictEqual(type.code, 2);
    assert.include(type.stderr, "listing, agent, message");
  });

  it("list decisions with their ends, and appeal once", async () => {
    assert.strictEqual(await home.show(["moderation"]), "No decisions about you.\n");
    const serviceId = await listService(api, agent);
    const hidden = await decided("hide", "listing", serviceId);
    const shown = await home.show(["moderation"]);
    for (const part of [`${hidden.id}  hidden`, `listing ${serviceId}`, "fraud", "The reason to hide it."])
      assert.include(shown, part);

    const appeal = ["moderation", "appeal", hidden.id, "--text", "It isn't so.", "--intent", "a-1"];
    const { appeal: made } = await home.ask(appeal);
    assert.strictEqual(made.state, "open");
    assert.deepEqual((await home.ask(appeal)).appeal, made);
    const again = await home.refusal(["moderation", "appeal", hidden.id, "--text", "Really."]);
    assert.strictEqual(again.code, "already_appealed");
    await decided("restore", "listing", serviceId);
    const [decision] = (await home.ask(["moderation"])).decisions;
    assert.strictEqual(decision.state, "restored");
    assert.include(await home.show(["moderation"]), "mistake: The reason to restore it.");
    const late = await home.refusal(["moderation", "appeal", "dec_none", "--text", "Late."]);
    assert.strictEqual(late.code, "not_found");
  });

  it("link an identity that the registry pays to the agent's wallet, and no other", async () => {
    const chain = await openChain("base");
    const id = await registerIdentity(chain, agent.account);
    const link = ["identity", "link", String(id), "--network", "base"];
    const { identity } = await home.ask(link);
    assert.deepInclude(identity, { agentId: agent.agentId, network: "base", id });
    assert.include(await home.show(link), `/agents/${agent.agentId}/registration.json`);
    assert.strictEqual((await api.request("GET", `/agents/${agent.agentId}/registration.json`)).status, 200);

    const foreign = await registerIdentity(chain, other.account);
    const refused = await home.refusal(["identity", "link", String(foreign), "--network", "base"]);
    assert.strictEqual(refused.code, "identity_wallet_mismatch");
    assert.strictEqual((await home.run(["identity", "link", "1.5", "--network", "base"])).code, 2);
  });
});
