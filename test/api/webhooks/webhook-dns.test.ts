import { pbkdf2 } from "node:crypto";
import { stat } from "node:fs/promises";
import { promisify } from "node:util";

import { assert } from "chai";

import { createHostResolver, isUnknownHost } from "../../../api/outbound/host-resolver.ts";
import { createWebhookSender } from "../../../api/features/webhooks/dispatches/sender.ts";
import { startDnsServer } from "../../fixtures/dns-server.ts";
import type { DnsAnswer, DnsServer } from "../../fixtures/dns-server.ts";
import { startReceiver, startReceiversOnOnePort } from "../../fixtures/receiver.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";

const webhook = (url: string) => ({
  url,
  eventId: "evt_1",
  bodyJson: '{"event":"escrow.funded"}',
  secret: "whsec_of-the-test",
  timestamp: Math.floor(Date.now() / 1000),
});

/** For immediate answers, even on a busy machine. */
const PATIENCE_MS = 30_000;
const patience = () => AbortSignal.timeout(PATIENCE_MS);

describe("names of webhook receivers", () => {
  let dns: DnsServer;
  const names = new Map<string, DnsAnswer>();

  before(async () => {
    dns = await startDnsServer((name) => names.get(name) ?? "unknown");
  });
  after(() => dns.close());

  const resolver = (options: { timeoutMs?: number; systemHosts?: string[] } = {}) =>
    createHostResolver({ systemHosts: [], servers: [dns.address], ...options });
  const resolve = (name: string, timeoutMs = PATIENCE_MS) => resolver({ timeoutMs })(name, patience());
  const sender = (allowedPrivateHosts: string[], timeoutMs = PATIENCE_MS) =>
    createWebhookSender({ allowedPrivateHosts, resolve: resolver({ timeoutMs, systemHosts: allowedPrivateHosts }) });

  describe("are resolved by DNS", () => {
    it("to every address of both families", async () => {
      names.set("both.example", ["1.1.1.1", "1.0.0.1", "2606:4700:4700::1111"]);
      const addresses = await resolve("both.example");
      assert.deepEqual(addresses.map(({ address, family }) => `${family} ${address}`).sort(), [
        "4 1.0.0.1",
        "4 1.1.1.1",
        "6 2606:4700:4700::1111",
      ]);
      names.set("four.example", ["1.1.1.1"]);
      assert.deepEqual(await resolve("four.example"), [{ address: "1.1.1.1", family: 4 }]);
    });

    it("[S6.40] again each time, regardless of the last answer's time to live", async () => {
      names.set("moving.example", ["1.1.1.1"]);
      const ask = resolver();
      const once = () => ask("moving.example", patience());
      assert.deepEqual(await once(), [{ address: "1.1.1.1", family: 4 }]);
      names.set("moving.example", ["10.0.0.5"]);
      assert.deepEqual(await once(), [{ address: "10.0.0.5", family: 4 }]);
    });

    it("and a nonexistent name is distinguished from a silent server", async () => {
      assert.ok(isUnknownHost(await rejectionOf(resolve("nobody.example"))));
      names.set("empty.example", []);
      assert.ok(isUnknownHost(await rejectionOf(resolve("empty.example"))));
      names.set("silent.example", "silence");
      const error = await rejectionOf(resolve("silent.example", 300));
      assert.ok(!isUnknownHost(error));
      assert.match(error.message, /didn't answer within 300 ms/);
    });

    it("except localhost and the operator's own names for this machine", async () => {
      const asked = dns.asked.length;
      const local = await resolver()("localhost", patience());
      assert.ok(local.length > 0 && local.every(({ address }) => ["127.0.0.1", "::1"].includes(address)));
      assert.strictEqual(dns.asked.length, asked);
    });
  });

  describe("answered by a hostile server", () => {
    it("never hold up files, ciphers or other names", async () => {
      for (let n = 0; n < 32; n += 1) names.set(`slow-${n}.example`, "silence");
      names.set("quick.example", ["1.1.1.1"]);
      const given = new AbortController();
      let settled = 0;
      const stuck = Array.from({ length: 32 }, async (_, n) => {
        try {
          await resolver({ timeoutMs: 60_000 })(`slow-${n}.example`, given.signal);
        } finally {
          settled += 1;
        }
      });
      const ended = Promise.allSettled(stuck);
      await Promise.all([
        ...Array.from({ length: 8 }, () => stat(import.meta.filename)),
        promisify(pbkdf2)("password", "salt", 1, 32, "sha256"),
        resolve("quick.example"),
      ]);
      assert.strictEqual(settled, 0, "the others were done first");
      given.abort();
      assert.ok((await ended).every(({ status }) => status === "rejected"));
    });

    it("too late, or with no address, are unreachable and not dropped, because they may have one a moment later", async () => {
      names.set("late.example", "silence");
      const result = await sender([], 300).send(webhook("http://late.example/hook"));
      assert.deepEqual([result.outcome, result.statusCode], ["unreachable", null]);
      assert.match(result.error ?? "", /DNS/);
      const none = await sender([]).send(webhook("http://nobody.example/hook"));
      assert.deepEqual([none.outcome, none.error], ["unreachable", "the name doesn't resolve"]);
    });

    it("[S6.41] [S6.42] [S6.43] [D39] with a private address are dropped, even beside a public one", async () => {
      const receiver = await startReceiver();
      try {
        for (const addresses of [
          ["127.0.0.1"],
          ["1.1.1.1", "10.0.0.5"],
          ["1.1.1.1", "fd00::1"],
          ["0.0.0.0"],
          ["::1"],
        ]) {
          names.set("hostile.example", addresses);
          const result = await sender([]).send(webhook(`http://hostile.example:${receiver.port}/hook`));
          assert.strictEqual(result.outcome, "dropped", addresses.join());
        }
        assert.strictEqual(receiver.received.length, 0);
      } finally {
        await receiver.close();
      }
    });

    it("[S9.07] with another address after the check lead to the checked one", async () => {
      const [checked, secret] = await startReceiversOnOnePort("127.0.0.2", "127.0.0.1");
      let address = "127.0.0.2";
      const turning = await startDnsServer(() => [address]);
      const ask = createHostResolver({ systemHosts: [], servers: [turning.address], timeoutMs: PATIENCE_MS });
      let checks = 0;
      try {
        const rebound = createWebhookSender({
          allowedPrivateHosts: ["127.0.0.2"],
          async resolve(name, signal) {
            const answer = await ask(name, signal);
            checks += 1;
            // Every query after the check, even one for connecting, gets another address.
            address = "127.0.0.1";
            return answer;
          },
        });
        const url = `http://turning.example:${checked.port}/hook`;
        assert.strictEqual((await rebound.send(webhook(url))).outcome, "acknowledged");
        assert.deepEqual([...new Set(turning.asked)].sort(), ["A turning.example", "AAAA turning.example"]);
        assert.strictEqual((await rebound.send(webhook(url))).outcome, "dropped");
        assert.strictEqual(checks, 2, "the name is asked for before each sending");
        assert.deepEqual([checked.received.length, secret.received.length], [1, 0]);
      } finally {
        await Promise.all([checked.close(), secret.close(), turning.close()]);
      }
    });
  });

  it("[D39] in WEBHOOK_ALLOW_PRIVATE_HOSTS reach this machine by name", async () => {
    const receiver = await startReceiver();
    try {
      const url = `http://localhost:${receiver.port}/hook`;
      assert.strictEqual(
        (await createWebhookSender({ allowedPrivateHosts: [] }).send(webhook(url))).outcome,
        "dropped",
      );
      const local = createWebhookSender({ allowedPrivateHosts: ["localhost"] });
      assert.strictEqual((await local.send(webhook(url))).outcome, "acknowledged");
      assert.strictEqual(receiver.received.length, 1);
    } finally {
      await receiver.close();
    }
  });
});
