import { assert } from "chai";

import { WEBHOOK_ATTEMPT_TIMEOUT_MS } from "../../../api/config/constants.ts";
import { checkAddress, isPublicAddress } from "../../../api/outbound/address-check.ts";
import type { ResolveHost } from "../../../api/outbound/host-resolver.ts";
import { createWebhookSender } from "../../../api/features/webhooks/dispatches/sender.ts";
import type { WebhookSenderOptions } from "../../../api/features/webhooks/dispatches/sender.ts";
import { verifyWebhookSignature } from "../../../api/features/webhooks/secrets/signature.ts";
import type { Respond } from "../../../scripts/demo/receiver.ts";
import { startReceiver, startReceiversOnOnePort } from "../../fixtures/receiver.ts";

const SECRET = "whsec_of-the-test";
const webhook = (url: string, timestamp = Math.floor(Date.now() / 1000)) => ({
  url,
  eventId: "evt_1",
  bodyJson: '{"event":"escrow.funded","text":"é"}',
  secret: SECRET,
  timestamp,
});

/** Names that resolve as a test decides. Counts the queries. */
function resolver(...answers: string[][]): ResolveHost & { asked: string[] } {
  const asked: string[] = [];
  const resolve: ResolveHost = (hostname) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(hostname);
    return Promise.resolve(addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })));
  };
  return Object.assign(resolve, { asked });
}

const check = (url: URL, resolve: ResolveHost, allowedPrivateHosts: readonly string[]) =>
  checkAddress(url, resolve, allowedPrivateHosts, AbortSignal.timeout(60_000));

async function withReceiver<T>(
  respond: Respond,
  run: (receiver: Awaited<ReturnType<typeof startReceiver>>) => Promise<T>,
): Promise<T> {
  const receiver = await startReceiver(respond);
  try {
    return await run(receiver);
  } finally {
    await receiver.close();
  }
}

const sender = (options: Partial<WebhookSenderOptions> = {}) =>
  createWebhookSender({ allowedPrivateHosts: ["127.0.0.1"], ...options });

describe("an attempt to send a webhook", () => {
  it("[S6.01] [D37] is a POST of the JSON body with signature and event id", () =>
    withReceiver(
      () => 200,
      async ({ url, received }) => {
        const result = await sender().send(webhook(url));
        assert.deepInclude(result, { outcome: "acknowledged", statusCode: 200, error: null, answer: "" });
        assert.isAtLeast(result.latencyMs ?? -1, 0);
        const [post] = received;
        assert.ok(post !== undefined && received.length === 1);
        assert.strictEqual(post.headers["content-type"], "application/json");
        assert.strictEqual(post.headers["x-service-event-id"], "evt_1");
        assert.strictEqual(post.rawBody, webhook(url).bodyJson);
        const signature = String(post.headers["x-service-signature"]);
        assert.ok(verifyWebhookSignature(SECRET, signature, post.rawBody, Math.floor(Date.now() / 1000)));
      },
    ));

  it("[S6.38] is acknowledged only by a 2xx", async () => {
    for (const [status, outcome] of [
      [200, "acknowledged"],
      [201, "acknowledged"],
      [204, "acknowledged"],
      [299, "acknowledged"],
      [304, "refused"],
      [400, "refused"],
      [500, "refused"],
    ] as const) {
      await withReceiver(
        () => status,
        async ({ url }) => {
          const result = await sender().send(webhook(url));
          assert.deepEqual([result.outcome, result.statusCode], [outcome, status]);
        },
      );
    }
  });

  it("[D39] doesn't follow a redirect", async () => {
    await withReceiver(
      () => 200,
      async (second) => {
        await withReceiver(
          (_n, response) => {
            response.writeHead(302, { location: second.url }).end();
            return undefined;
          },
          async ({ url }) => {
            const result = await sender().send(webhook(url));
            assert.deepEqual([result.outcome, result.statusCode], ["refused", 302]);
            assert.strictEqual(second.received.length, 0);
          },
        );
      },
    );
  });

  it("[S6.36] times out after 10 seconds", async () => {
    assert.strictEqual(WEBHOOK_ATTEMPT_TIMEOUT_MS, 10_000);
    await withReceiver(
      () => undefined,
      async ({ url, received }) => {
        const startedAt = performance.now();
        const result = await sender().send(webhook(url));
        const elapsedMs = performance.now() - startedAt;
        assert.strictEqual(result.outcome, "unreachable");
        assert.strictEqual(received.length, 1);
        assert.ok(elapsedMs >= 9_900 && elapsedMs < 60_000, `${elapsedMs} ms`);
      },
    );
  }).timeout(120_000);

  it("also times out if the name doesn't resolve or the answer never ends", async () => {
    const never: ResolveHost = () => new Promise(() => undefined);
    const quick = sender({ timeoutMs: 200, resolve: never });
    assert.strictEqual((await quick.send(webhook("http://slow.example/hook"))).outcome, "unreachable");
    await withReceiver(
      (_n, response) => {
        response.writeHead(200);
        response.write("x");
        return undefined;
      },
      async ({ url }) => {
        assert.strictEqual((await sender({ timeoutMs: 30_000 }).send(webhook(url))).outcome, "acknowledged");
      },
    );
  });

  it("reports that nobody listens", async () => {
    const receiver = await startReceiver();
    await receiver.close();
    const result = await sender().send(webhook(receiver.url));
    assert.deepEqual([result.outcome, result.statusCode], ["unreachable", null]);
    assert.match(result.error ?? "", /ECONNREFUSED/);
  });
});

describe("the address check", () => {
  it("[S6.41] [S6.42] [S6.43] treats no private, loopback or internal address as public", () => {
    const forbidden = [
      ...["10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255"],
      ...["127.0.0.1", "127.1.2.3", "127.255.255.254", "0.0.0.0", "169.254.169.254", "100.64.0.1", "224.0.0.1"],
      ...["255.255.255.255", "192.0.2.1", "198.18.0.1", "240.0.0.1"],
      ...["::1", "::", "fe80::1", "fc00::1", "fd12:3456::1", "ff02::1", "2001:db8::1"],
      ...["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:c0a8:1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001::1"],
      ...["::7f00:1", "::a9fe:a9fe", "fec0::1", "100:0:0:1::1", "4000::1"],
      "not an address",
    ];
    for (const address of forbidden) assert.strictEqual(isPublicAddress(address), false, address);
    for (const address of ["1.1.1.1", "172.15.0.1", "172.32.0.1", "2606:4700:4700::1111", "::ffff:1.1.1.1"]) {
      assert.strictEqual(isPublicAddress(address), true, address);
    }
  });

  it("[S6.43] reads addresses in every spelling that a URL allows", async () => {
    const nobody: ResolveHost = () => Promise.reject(new Error("an address is not a name"));
    for (const host of ["127.1", "0x7f.0.0.1", "2130706433", "0177.0.0.1", "[::1]", "[::ffff:7f00:1]", "[fe80::1]"]) {
      const verdict = await check(new URL(`http://${host}/`), nobody, []);
      assert.strictEqual(verdict.allowed, false, host);
    }
  });

  it("[D39] refuses a name if any of its addresses isn't public", async () => {
    const url = new URL("https://mixed.example/hook");
    const mixed = await check(url, resolver(["1.1.1.1", "10.0.0.5"]), []);
    assert.strictEqual(mixed.allowed, false);
    const mapped = await check(url, resolver(["1.1.1.1", "::ffff:192.168.1.1"]), []);
    assert.strictEqual(mapped.allowed, false);
    const clean = await check(url, resolver(["1.1.1.1", "2606:4700:4700::1111"]), []);
    assert.strictEqual(clean.allowed, true);
  });

  it("[S6.41] [S6.42] [S6.43] never reaches a private address, by number or by name", () =>
    withReceiver(
      () => 200,
      async ({ port, received }) => {
        const strict = sender({ allowedPrivateHosts: [] });
        for (const host of ["127.0.0.1", "localhost", "[::1]", "0.0.0.0"]) {
          const result = await strict.send(webhook(`http://${host}:${port}/hook`));
          assert.strictEqual(result.outcome, "dropped", host);
        }
        const resolved = [
          ...["127.0.0.1", "127.8.8.8", "10.1.2.3", "172.16.0.1", "172.31.255.254", "192.168.1.1"],
          ...["169.254.169.254", "100.64.0.1", "::1", "fd00::1", "fe80::1", "::ffff:10.0.0.1"],
        ];
        for (const address of resolved) {
          const named = sender({ allowedPrivateHosts: [], resolve: resolver([address]) });
          const result = await named.send(webhook(`http://innocent.example:${port}/`));
          assert.strictEqual(result.outcome, "dropped", address);
        }
        assert.strictEqual(received.length, 0);
      },
    ));

  it("[D39] makes an exception only for the listed names and addresses", async () => {
    const url = new URL("http://internal.example/");
    assert.strictEqual((await check(url, resolver(["10.0.0.5"]), ["10.0.0.5"])).allowed, true);
    assert.strictEqual((await check(url, resolver(["10.0.0.6"]), ["10.0.0.5"])).allowed, false);
    assert.strictEqual((await check(url, resolver(["10.0.0.6"]), ["internal.example"])).allowed, true);
  });

  it("[S6.40] [S9.07] resolves the name before each send and connects to the checked address", async () => {
    // Both listen on one port: 127.0.0.2 represents the public address that the check allows, 127.0.0.1 the
    // private one to which the name changes right after it.
    const [checked, secret] = await startReceiversOnOnePort("127.0.0.2", "127.0.0.1");
    try {
      const resolve = resolver(["127.0.0.2"], ["127.0.0.1"]);
      const rebound = sender({ allowedPrivateHosts: ["127.0.0.2"], resolve });
      const url = `http://rebinding.example:${checked.port}/hook`;
      assert.strictEqual((await rebound.send(webhook(url))).outcome, "acknowledged");
      assert.deepEqual(resolve.asked, ["rebinding.example"]);
      assert.deepEqual([checked.received.length, secret.received.length], [1, 0]);
      assert.strictEqual((await rebound.send(webhook(url))).outcome, "dropped");
      assert.deepEqual(resolve.asked, ["rebinding.example", "rebinding.example"]);
      assert.deepEqual([checked.received.length, secret.received.length], [1, 0]);
    } finally {
      await Promise.all([checked.close(), secret.close()]);
    }
  });
});
