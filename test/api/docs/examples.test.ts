// The examples of /openapi.json: each request is sent, and each answer has the shape of its example.
import { writeFileSync } from "node:fs";

import { assert } from "chai";

import { AGREEMENT_TYPES, agreementDomain } from "../../../api/chain/agreement.ts";
import { routes } from "../../../api/app.ts";
import { ANSWER_EXAMPLES } from "../../../api/http/examples.ts";
import { ADMIN_KEY } from "../../../scripts/testing/admin-key.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { grantBody } from "../../fixtures/approvals.ts";
import { createEscrow } from "../../fixtures/deals.ts";
import type { CheckoutData } from "../../fixtures/deals.ts";
import { DESCRIPTIONS, LONG_NAMES, operationsOf } from "../../fixtures/description.ts";
import { Court } from "../../fixtures/disputes.ts";
import { AS_ADMIN } from "../../fixtures/environment.ts";
import { ExampleRecorder, exampleOf, resolved, shapeFault } from "../../fixtures/examples.ts";
import { registerIdentity } from "../../fixtures/identities.ts";
import { startMailServer, tokenOf } from "../../fixtures/mail-server.ts";
import type { MailServer } from "../../fixtures/mail-server.ts";
import { mandateBody, withMandate } from "../../fixtures/mandates.ts";
import { moderationCalls } from "../../fixtures/moderation.ts";
import { headerOfTransfer, pay, paymentSettings } from "../../fixtures/payments.ts";
import { keyRequestBody, registrationBody } from "../../fixtures/sign-in.ts";
import { paymentMethodBody } from "../../fixtures/statements.ts";
import { until } from "../../fixtures/until.ts";

const description: object = DESCRIPTIONS[0] ?? {};
const operations = new Map(operationsOf(description).map((operation) => [operation.operationId, operation]));
const settings = paymentSettings("base-sepolia");
const MONTH = "2026-09";
const BYTES32 = `0x${"f".repeat(64)}` as const;

/** How an operation is called beside the example of its body. */
interface Call {
  as?: TestAgent;
  /** Parameters of the path and the query by their names. */
  at?: Record<string, string>;
  /** Values of the example that name records, wallets or moments. */
  given?: Record<string, unknown>;
  status?: number;
  headers?: Record<string, string>;
}

describe("the examples of the description", () => {
  let court: Court;
  let api: TestApi;
  let mails: MailServer;
  const asked = new Set<string>();
  const recorder = new ExampleRecorder(description);

  before(async () => {
    mails = await startMailServer();
    const mail = { smtpUrl: mails.url, from: "Market <no-reply@market.test>" };
    court = await Court.open({ env: { mail, x402: settings, adminApiKey: ADMIN_KEY } });
    ({ api } = court);
  });
  after(async () => {
    await court.close();
    await mails.close();
  });

  /** Sends the example of an operation's body, and compares the answer with its example. */
  async function ask(name: string, { as, at = {}, given = {}, status, headers }: Call = {}): Promise<any> {
    const operation = operations.get(name);
    assert.ok(operation, name);
    let path = operation.path;
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries(at)) {
      if (path.includes(`{${key}}`)) path = path.replace(`{${key}}`, encodeURIComponent(value));
      else query.set(key, value);
    }
    const options = { ...(as === undefined ? {} : { key: as.apiKey }), ...(headers === undefined ? {} : { headers }) };
    const schema = operation.requestBody?.content["application/json"]?.schema;
    const { examples: [example] = [] } = schema === undefined ? {} : resolved(description, schema);
    assert.strictEqual(example === undefined, schema === undefined, `${name} has a body, or an example of one`);
    assert.includeMembers(Object.keys(example ?? {}), Object.keys(given), name);
    const body = example === undefined ? {} : { body: { ...example, ...given } };
    const address = query.size === 0 ? path : `${path}?${query.toString()}`;
    const answer = await api.request(operation.method, address, { ...options, ...body });
    const main = Object.keys(operation.responses).find((code) => code.startsWith("2"));
    assert.strictEqual(answer.status, status ?? Number(main), `${name}: ${answer.text}`);
    const answerSchema = operation.responses[answer.status]?.content?.["application/json"]?.schema;
    assert.ok(answerSchema, name);
    asked.add(name);
    recorder.add(answerSchema, answer.body);
    if (process.env["RECORD_EXAMPLES"] !== undefined) return answer.body;
    const shown = exampleOf(description, answerSchema);
    routes.find((route) => route.name === name)?.responses[answer.status]?.parse(shown);
    assert.isUndefined(shapeFault(shown, answer.body), name);
    assertTwins(answer.body);
    return answer.body;
  }

  /** An id beside a longer name is the same, and so is a time in unix seconds beside its twin. */
  function assertTwins(value: unknown): void {
    if (typeof value !== "object" || value === null) return;
    const record = value as Record<string, unknown>;
    const [first, second = ""] = Object.keys(record);
    if (first === "id" && LONG_NAMES.includes(second)) assert.strictEqual(record["id"], record[second]);
    if (typeof record["deadline"] === "number") {
      assert.strictEqual(record["deadlineAt"], new Date(record["deadline"] * 1_000).toISOString());
    }
    for (const inner of Object.values(record)) assertTwins(inner);
  }

  it("register an agent, and show what anyone reads of it", async () => {
    const { account, body } = await registrationBody();
    const { walletAddress, message, signature } = body;
    const agent = await ask("agents.register", { given: { walletAddress, message, signature } });
    const [as, id] = [{ ...agent, account } as TestAgent, agent.agentId as string];
    recorder.name({ [id]: "sellerAgent", [walletAddress]: "seller" });
    await ask("keys.revoke", { as });
    const { apiKey } = await ask("keys.issue", { given: await keyRequestBody(account) });
    as.apiKey = apiKey as string;
    const { body: mandated } = await api.request("POST", "/api/v1/auth/keys", { body: await mandateBody(account) });
    await ask("keys.list", { as });
    await ask("keys.revokeById", { as, at: { keyId: mandated.keyId } });
    await ask("keys.freeze", { as });
    await court.chain.endow(account, { usdc: 1_000_000n });
    await ask("kya.linkPaymentMethod", { as, given: await paymentMethodBody(as, court.chain) });
    await ask("agents.linkIdentity", { as, given: { id: await registerIdentity(court.chain, account) } });
    await ask("developers.requestAccess");
    await api.container.features.developer.sendDueMails?.(api.container.log, new AbortController().signal);
    await ask("developers.verify", { as, given: { token: tokenOf(mails.received.at(-1)) } });
    for (const name of ["agents.read", "agents.readTrust", "agents.readPublicKey", "agents.readDiscoveryScore"])
      await ask(name, { as, at: { id } });
    for (const name of ["agents.list", "usage.read", "fees.readTier"]) await ask(name, { as });
    await ask("scores.read", { at: { address: walletAddress } });
    const { payTo } = settings;
    const usdc = court.chain.deployment.tokens.find(({ symbol }) => symbol === "USDC")?.address;
    assert.ok(usdc !== undefined && payTo !== undefined);
    const { data } = await ask("packs.list");
    const txHash = await pay({ chain: court.chain, usdc, payTo }, account, { value: 1_000n });
    await ask("packs.buy", { as, at: { packId: data[0].packId }, headers: headerOfTransfer(txHash, walletAddress) });
  });

  it("list a service, and find it", async () => {
    const { seller: as } = court;
    const { data } = await ask("listings.create", { as });
    const id = data.id as string;
    recorder.name({ [id]: "service", [as.agentId]: "sellerAgent", [as.walletAddress]: "seller" });
    await ask("listings.list", { as });
    await ask("listings.read", { as, at: { id } });
    await ask("listings.update", { as, at: { id } });
    await ask("listings.discover");
    await ask("listings.checkVisibility", { as, at: { id } });
    await ask("market.listListings");
    await ask("market.readListing", { at: { serviceId: id } });
    await ask("market.readAgent", { at: { wallet: as.walletAddress } });
    await ask("listings.archive", { as, at: { id } });
    for (const name of ["categories.list", "networks.list", "health.read"]) await ask(name);
  });

  it("ask the wallet to approve a checkout", async () => {
    const { buyer, market } = court;
    const as = await withMandate(api, buyer, { perDealUsd: "1", onExceeded: "approval" });
    recorder.name({ [market.serviceId]: "service" });
    const required = await ask("checkout.create", { as, given: { serviceId: market.serviceId }, status: 202 });
    const { approval } = required.data;
    await ask("approvals.list", { as });
    const at = { id: approval.id as string };
    await ask("approvals.grant", { as: buyer, at, given: { ...(await grantBody(buyer.account, approval)) } });
    await ask("approvals.decline", { as: buyer, at });
  });

  it("report a listing, and appeal against a decision", async () => {
    const { buyer, seller: as, market } = court;
    const { decided } = moderationCalls(() => api);
    recorder.name({ [market.serviceId]: "service" });
    await ask("reports.create", { as: buyer, given: { subject: { type: "listing", id: market.serviceId } } });
    const { id: decisionId } = await decided("hide", "listing", market.serviceId);
    await ask("appeals.create", { as, given: { decisionId } });
    const body = { text: "They don't." };
    await api.request("POST", `/api/v1/admin/moderation/appeals/${decisionId}`, { ...AS_ADMIN, body });
    await decided("restore", "listing", market.serviceId);
    await ask("decisions.list", { as });
  });

  it("make a deal, from its checkout to its release", async () => {
    const { buyer, seller, chain, market } = court;
    const { data: deal } = (await ask("checkout.create", { as: buyer, given: { serviceId: market.serviceId } })) as {
      data: CheckoutData;
    };
    const { transactionId, paymentInstructions } = deal;
    nameDeal(deal);
    const at = { id: transactionId };
    const { transactionHash } = await createEscrow(market, deal);
    await until("the funding is indexed", async () => {
      const given = { txHash: transactionHash };
      const { status } = await api.request("POST", paymentInstructions.fundEndpoint, {
        key: buyer.apiKey,
        body: given,
      });
      return status === 200;
    });
    await ask("transactions.fund", { as: buyer, at, given: { txHash: transactionHash } });
    await ask("jobs.list", { as: seller });
    await ask("transactions.claimAbandoned", { as: buyer, at });
    await ask("transactions.readCriteria", { as: buyer, at });
    await ask("transactions.check", { as: seller, at });
    const waiting = await ask("transactions.deliver", { as: seller, at, status: 202, given: { txHash: undefined } });
    const delivery = await chain.send(seller.account, waiting.data.submitDelivery);
    await ask("transactions.deliver", { as: seller, at, given: { txHash: delivery.transactionHash } });
    await ask("transactions.finalize", { as: buyer, at });
    await ask("market.readDeal", { at: { escrowId: paymentInstructions.escrowId } });
    const read = await ask("transactions.read", { as: buyer, at });
    const accept = read.data.actions.find(({ action }: { action: string }) => action === "accept");
    await chain.send(buyer.account, accept);
    await until("the release is indexed", async () => {
      const { status } = await api.request("POST", `/api/v1/transactions/${transactionId}/confirm`, {
        key: buyer.apiKey,
      });
      return status === 200;
    });
    await ask("transactions.confirm", { as: buyer, at });
    await ask("transactions.list", { as: buyer });
    await until("it is announced", async () => {
      const { body } = await api.request("GET", "/api/v1/events", { key: seller.apiKey });
      // The log begins with the decisions about the listing.
      return body.data.some(({ payload }: { payload: object }) => "transactionId" in payload);
    });
    await ask("events.list", { as: seller });
    await ask("transactions.readTimeline", { as: seller, at });
    await ask("analytics.readFractal", { as: seller, at: { metric: "volume" } });
    await ask("analytics.analyseSeries", { as: seller });
    await ask("analytics.readMarket", { as: seller });
    for (const name of ["market.readFigures", "market.readStatus"]) await ask(name);
  });

  it("argue a dispute", async () => {
    const { buyer, seller, chain } = court;
    const deal = await court.disputed();
    nameDeal(deal);
    const [{ disputeId, transactionId, paymentInstructions }, id] = [deal, { disputeId: deal.disputeId }];
    recorder.name({ [disputeId]: "dispute" });
    await ask("disputes.create", { as: buyer, given: { transactionId } });
    const terms = { buyerPercent: 30, deadline: Math.floor(Date.now() / 1_000) + 3_600 };
    const signature = await seller.account.signTypedData({
      domain: agreementDomain({ chainId: paymentInstructions.chainId, resolverContract: chain.deployment.resolver }),
      types: AGREEMENT_TYPES,
      primaryType: "ResolutionAgreement",
      message: { escrowId: paymentInstructions.escrowId, buyerPercent: 30n, deadline: BigInt(terms.deadline) },
    });
    await ask("disputes.offerSettlement", { as: seller, at: id, given: { deadline: terms.deadline, signature } });
    await ask("disputes.submitEvidence", { as: buyer, at: id });
    await ask("transactions.submitEvidence", { as: seller, at: { id: transactionId } });
    await court.until("ruled", deal);
    await ask("disputes.read", { as: buyer, at: id });
    await ask("disputes.readRuling", { as: buyer, at: id });
    await ask("market.listDisputes");
  });

  it("remember, and send messages and webhooks", async () => {
    const { buyer: as, seller } = court;
    for (const name of ["memory.writeBatch", "memory.import"]) await ask(name, { as });
    await ask("memory.write", { as, status: 201 });
    await ask("memory.list", { as });
    await ask("memory.search", { as });
    const at = { key: "reports/risk" };
    for (const name of ["memory.read", "memory.renew", "memory.readHistory", "memory.delete"])
      await ask(name, { as, at });
    const { data } = await api.request("GET", "/api/v1/transactions", { key: as.apiKey }).then(({ body }) => body);
    const given = { toAgentId: seller.agentId };
    const sent = await ask("messages.send", { as, given: { ...given, transactionId: data[0].transactionId } });
    await ask("messages.list", { as: seller });
    await ask("messages.read", { as: seller, at: { id: sent.data.id } });
    await ask("messages.markRead", { as: seller, at: { id: sent.data.id } });
    await ask("ucpMessages.send", { as, given });
    await ask("ucpMessages.list", { as: seller });
    await ask("topics.subscribe", { as });
    await ask("topics.listSubscriptions", { as });
    await ask("topics.unsubscribe", { as, at: { topic: "token-risks" } });
    await ask("messages.registerWebhook", { as });
    const { webhookId } = (await ask("webhooks.create", { as })).data;
    const hook = { webhookId: webhookId as string };
    await ask("webhooks.list", { as });
    for (const name of ["webhooks.read", "webhooks.update", "webhooks.redeliverMissed"]) {
      const since = { since: new Date(Date.now() - 3_600_000).toISOString() };
      await ask(name, { as, at: hook, ...(name === "webhooks.redeliverMissed" ? { given: since } : {}) });
    }
    const { deliveryId } = (await ask("webhooks.ping", { as, at: hook })).data;
    await ask("webhooks.readDelivery", { as, at: { deliveryId } });
    await ask("webhooks.redeliver", { as, at: { deliveryId } });
    await ask("webhooks.listDeliveries", { as });
    for (const name of ["webhooks.rotateSecret", "webhooks.readSecret", "webhooks.activateSecret"])
      await ask(name, { as });
    await ask("webhooks.delete", { as, at: hook });
  });

  it("show a rebate statement", async () => {
    const { seller: as } = court;
    const { statements, lines } = api.container.features.fees.models;
    const wallet = as.walletAddress.toLowerCase() as `0x${string}`;
    const statementId = "rbt_example";
    const window = { windowStart: "2026-09-01T00:00:00.000Z", windowEnd: "2026-10-01T00:00:00.000Z" };
    const token = { token: BYTES32.slice(0, 42) as `0x${string}`, tokenSymbol: "USDC", tokenDecimals: 6 };
    const sums = { settledVolumeUsdUnits: "100000000000", fee: "2000000000", rebate: "500000000", settlementCount: 1 };
    await statements.create([
      {
        _id: statementId,
        network: "base",
        month: MONTH,
        wallet,
        ...token,
        tier: "Growth",
        effectiveRateBps: 150,
        ...window,
        ...sums,
        block: { number: 1, hash: BYTES32 },
        settlementsHash: BYTES32,
        hash: BYTES32,
        isPayable: true,
        createdAt: new Date(),
      },
    ]);
    const amounts = { amount: "100000000000", fee: "2000000000", locked: "98000000000", sellerAmount: "98000000000" };
    const values = { valueUsdUnits: "100000000000", volumeUsdUnits: "100000000000", countedFee: "2000000000" };
    await lines.insertMany([
      {
        _id: `${statementId}|0`,
        statementId,
        position: 0,
        escrowId: BYTES32,
        settledAt: window.windowStart,
        ...amounts,
        ...values,
      },
    ]);
    await ask("rebates.list", { as });
    await ask("rebates.listSettlements", { as, at: { statementId } });
  });

  it("are there for every operation with a body, and for every answer of JSON", () => {
    const wanted = [...operations.values()].filter(({ operationId, requestBody, responses }) => {
      // The description itself.
      if (operationId === "docs.readDescription") return false;
      const answers = Object.entries(responses).filter(([status]) => status.startsWith("2"));
      return (
        requestBody !== undefined || answers.some(([, { content }]) => content?.["application/json"] !== undefined)
      );
    });
    assert.sameMembers(
      [...asked],
      wanted.map(({ operationId }) => operationId),
    );
    if (process.env["RECORD_EXAMPLES"] === undefined) return;
    const file = new URL("../../../api/http/answer-examples.json", import.meta.url);
    const lines = Object.entries({ ...ANSWER_EXAMPLES, ...recorder.examples() }).toSorted(([one], [other]) =>
      one < other ? -1 : 1,
    );
    writeFileSync(
      file,
      `{\n${lines.map(([name, example]) => `${JSON.stringify(name)}: ${JSON.stringify(example)}`).join(",\n")}\n}\n`,
    );
  });

  function nameDeal({ transactionId, paymentInstructions }: CheckoutData): void {
    const { buyer, seller, market } = court;
    const { escrowId, tokenAddress } = paymentInstructions;
    recorder.name({
      [transactionId]: "transaction",
      [market.serviceId]: "service",
      [escrowId]: "escrowId",
      [tokenAddress]: "token",
      [buyer.agentId]: "buyerAgent",
      [buyer.walletAddress]: "buyer",
      [seller.agentId]: "sellerAgent",
      [seller.walletAddress]: "seller",
    });
  }
});
