// Addresses that lead into the operator's network. None of them may get a connection.
import diagnosticsChannel from "node:diagnostics_channel";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

import { assert } from "chai";

import { createHostResolver } from "../../../api/outbound/host-resolver.ts";
import { createWebhookSender } from "../../../api/features/webhooks/dispatches/sender.ts";
import { startDnsServer } from "../../fixtures/dns-server.ts";
import type { DnsServer } from "../../fixtures/dns-server.ts";

/** Special-purpose IPv4 addresses (IANA registry), cloud metadata services among them. */
const IPV4 = [
  ...["0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.254"],
  ...["127.0.0.1", "127.53.1.9", "127.255.255.255", "169.254.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.254"],
  ...["192.0.0.1", "192.0.0.192", "192.0.2.1", "192.168.0.1", "192.168.255.255", "198.18.0.1", "198.19.255.255"],
  ...["198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"],
];
const octets = (address: string) => address.split(".").map(Number) as [number, number, number, number];
const asNumber = (address: string) => octets(address).reduce((sum, octet) => sum * 256 + octet, 0);

/** How an IPv4 address can be written in a URL. */
const SPELLINGS: readonly ((address: string) => string)[] = [
  (address) => address,
  (address) => `${address}.`,
  (address) => String(asNumber(address)),
  (address) => `0x${asNumber(address).toString(16)}`,
  (address) => `0${asNumber(address).toString(8)}`,
  (address) =>
    octets(address)
      .map((octet) => `0x${octet.toString(16)}`)
      .join("."),
  (address) =>
    octets(address)
      .map((octet) => `0${octet.toString(8)}`)
      .join("."),
  (address) => {
    const [first, second] = octets(address);
    return `${first}.0x${second.toString(16)}.${asNumber(address) % 65_536}`;
  },
  (address) => Array.from(address, (c) => (c === "." ? "。" : String.fromCharCode(c.charCodeAt(0) + 0xfee0))).join(""),
];

const IPV6 = [
  // Loopback, unspecified, IPv4 in IPv6: mapped, translated and compatible.
  ...["::1", "0:0:0:0:0:0:0:1", "::", "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:169.254.169.254", "::ffff:10.0.0.1"],
  ...["::ffff:0:127.0.0.1", "::ffff:0:7f00:1", "::127.0.0.1", "::7f00:1", "::a9fe:a9fe"],
  // NAT64, 6to4 and Teredo, which lead to the IPv4 address that they contain.
  ...[
    "64:ff9b::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::7f00:1",
    "2002:7f00:1::",
    "2002:a00:1::1",
  ],
  ...["2002:a9fe:a9fe::", "2001:0:4136:e378:8000:63bf:80ff:fffe", "2001::1"],
  // Unique local with a metadata service, link-local, site-local, multicast.
  ...[
    "fc00::1",
    "fd00:ec2::254",
    "fdff:ffff::1",
    "fe80::1",
    "fe80::a9fe:a9fe",
    "febf::1",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
  ],
  // Discard, benchmarking, ORCHID, documentation, segment routing.
  ...["100::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "3fff::1", "5f00::1"],
];

const NAMES = ["localhost", "LOCALHOST", "localhost.", "ⓛocalhost", "loc%61lhost", "api.localhost", "internal", "a..b"];
const SCHEMES = ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "data:text/plain,x", "//127.0.0.1/"];
const PUBLIC = "93.184.215.14";

describe("a hostile webhook address", () => {
  let listeners: Server[];
  let port: number;
  let connections = 0;
  let dns: DnsServer;
  const answers = new Map<string, () => readonly string[]>();
  /** Addresses to which this process has opened a TCP connection. */
  let opened = 0;
  const onSocket = () => {
    opened += 1;
  };

  before(async () => {
    const ipv4 = createServer((_, response) => response.end()).on("connection", () => (connections += 1));
    await new Promise<void>((resolve) => void ipv4.listen(0, "0.0.0.0", resolve));
    ({ port } = ipv4.address() as AddressInfo);
    const ipv6 = createServer((_, response) => response.end()).on("connection", () => (connections += 1));
    // Without IPv6 on the machine there is nothing to reach.
    const listens = await new Promise<boolean>((resolve) => {
      ipv6.once("error", () => {
        resolve(false);
      });
      ipv6.listen({ port, host: "::1", ipv6Only: true }, () => {
        resolve(true);
      });
    });
    listeners = listens ? [ipv4, ipv6] : [ipv4];
    dns = await startDnsServer((name) => answers.get(name)?.() ?? "unknown");
    diagnosticsChannel.subscribe("net.client.socket", onSocket);
  });
  after(async () => {
    diagnosticsChannel.unsubscribe("net.client.socket", onSocket);
    await dns.close();
    for (const listener of listeners) await new Promise((resolve) => listener.close(resolve));
  });

  const senderAllowing = (allowedPrivateHosts: string[] = []) =>
    createWebhookSender({
      allowedPrivateHosts,
      timeoutMs: 2_000,
      resolve: createHostResolver({ systemHosts: allowedPrivateHosts, servers: [dns.address] }),
    });
  function send(url: string, allowed?: string[]) {
    const webhook = { url, eventId: "evt_1", bodyJson: "{}", secret: `whsec_${"0".repeat(64)}`, timestamp: 0 };
    return senderAllowing(allowed).send(webhook);
  }

  /** Sends to all of them, and asserts that not a single connection was opened. */
  async function assertUnreached(urls: readonly string[]): Promise<void> {
    const before = { opened, connections };
    const outcomes = await Promise.all(
      urls.map(async (url) => {
        const { outcome, statusCode, error } = await send(url);
        const isNowhere = !URL.canParse(url) || error === "the name doesn't resolve";
        return [url, outcome === "dropped" || (outcome === "unreachable" && isNowhere), statusCode];
      }),
    );
    assert.deepEqual(
      outcomes.filter(([, isRefused, status]) => isRefused !== true || status !== null),
      [],
    );
    assert.deepEqual({ opened, connections }, before);
  }

  const at = (host: string) => `http://${host}:${port}/hook`;

  it("[D39] gets no connection by any spelling of an IPv4 address", async () => {
    const urls = IPV4.flatMap((address) => SPELLINGS.map((spell) => at(spell(address))));
    assert.isAtLeast(urls.length, 200);
    await assertUnreached([...urls, ...["127.1", "127.0.1", "0", "0x0", "00", "127.000.000.001", "0x7f.1"].map(at)]);
  });

  it("[D39] gets no connection by any form of an IPv6 address", async () => {
    await assertUnreached([...IPV6.map((address) => at(`[${address}]`)), at("[fe80::1%25lo]"), at("[::1%25lo]")]);
  });

  it("[D39] gets no connection by a name, another scheme or credentials", async () => {
    const withCredentials = [
      "user:pw@127.0.0.1",
      "public.example@127.0.0.1",
      "127.0.0.1%23@public.example",
      "u@public.example",
    ];
    answers.set("public.example", () => [PUBLIC]);
    await assertUnreached([...NAMES.map(at), ...SCHEMES, ...withCredentials.map(at)]);
  });

  it("[D39] gets no connection by a name that resolves to one of them, alone or among public addresses", async () => {
    const literals = [...IPV4, ...IPV6.filter((address) => !address.includes("."))];
    const many = Array.from({ length: 20 }, (_, n) => `93.184.215.${n + 1}`);
    const urls = literals.flatMap((address, index) => {
      answers.set(`alone-${index}.example`, () => [address]);
      answers.set(`first-${index}.example`, () => [address, PUBLIC]);
      answers.set(`last-${index}.example`, () => [...many, address]);
      return ["alone", "first", "last"].map((place) => at(`${place}-${index}.example`));
    });
    for (let start = 0; start < urls.length; start += 25) await assertUnreached(urls.slice(start, start + 25));
  });

  it("[D39] gets no connection when the DNS changes its answer after the check", async () => {
    let asked = 0;
    answers.set("rebinding.example", () => ((asked += 1) <= 2 ? [PUBLIC] : ["127.0.0.1"]));
    const before = connections;
    const { statusCode } = await send(at("rebinding.example"));
    assert.isNull(statusCode);
    assert.strictEqual(asked, 2, "one question for each family, before the connection");
    assert.strictEqual((await send(at("rebinding.example"))).outcome, "dropped");
    assert.strictEqual(connections, before);
  });

  it("[D39] gets no connection by a redirect", async () => {
    const redirecting = createServer((_, response) => {
      response.writeHead(307, { location: at("127.0.0.1") }).end();
    });
    await new Promise<void>((resolve) => void redirecting.listen(0, "127.0.0.1", resolve));
    try {
      answers.set("receiver.example", () => ["127.0.0.1"]);
      const before = connections;
      const url = `http://receiver.example:${(redirecting.address() as AddressInfo).port}/`;
      const { outcome, statusCode } = await send(url, ["127.0.0.1"]);
      assert.deepEqual([outcome, statusCode], ["refused", 307]);
      assert.strictEqual(connections, before);
    } finally {
      await new Promise((resolve) => redirecting.close(resolve));
    }
  });

  it("would be counted if it got one", async () => {
    const before = { opened, connections };
    assert.strictEqual((await send(at("127.0.0.1"), ["127.0.0.1"])).outcome, "acknowledged");
    assert.isAbove(opened, before.opened);
    assert.strictEqual(connections, before.connections + 1);
  });
});
