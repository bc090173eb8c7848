// The packages that the service hands out.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { assert } from "chai";

import { packTarball } from "../../../scripts/local/tarball.ts";
import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { limitsWith } from "../../fixtures/limits.ts";
import { buildPackages, linkDependencies, readSdkManifest, SDK_NAME } from "../../fixtures/sdk-package.ts";

const run = promisify(execFile);
const SDK = "/downloads/sdk.tgz";
const CLI_NAME = "@agent-marketplace/cli";
const sha256 = (content: Buffer) => createHash("sha256").update(content).digest("hex");

describe("the downloads", () => {
  let api: TestApi;
  let built: Buffer;
  let builtCli: Buffer;
  let dir: string;

  before(async () => {
    const downloadsDir = await buildPackages();
    built = readFileSync(join(downloadsDir, "sdk.tgz"));
    builtCli = readFileSync(join(downloadsDir, "cli.tgz"));
    dir = mkdtempSync(join(tmpdir(), "downloads-"));
    api = await startTestApi({ env: { downloadsDir } });
  });
  after(async () => {
    await api.close();
    rmSync(dir, { recursive: true, force: true });
  });

  describe("with a package that was built", () => {
    it("list each with its checksum, and with the command that installs it from the public address", async () => {
      const { body } = await api.request("GET", "/downloads");
      const facts = (file: string, name: string, content: Buffer) => ({
        file,
        name,
        version: readSdkManifest("sdk").version,
        bytes: content.length,
        sha256: sha256(content),
        url: `https://market.test/downloads/${file}`,
      });
      const [cli, sdk] = [facts("cli.tgz", CLI_NAME, builtCli), facts("sdk.tgz", SDK_NAME, built)];
      assert.deepEqual(body.data, [
        { ...cli, install: `npm install --global ${cli.url}` },
        { ...sdk, install: `npm install ${sdk.url} viem` },
      ]);
      assert.isNull(body.nextCursor);
    });

    it("hand it out as it is, with its checksum as ETag", async () => {
      const answer = await fetch(api.url + SDK);
      assert.strictEqual(answer.status, 200);
      assert.isTrue(built.equals(Buffer.from(await answer.arrayBuffer())));
      const names = ["content-type", "content-length", "cache-control", "etag", "x-content-type-options"];
      assert.deepEqual(
        names.map((name) => answer.headers.get(name)),
        ["application/gzip", String(built.length), "public, no-cache", `"${sha256(built)}"`, "nosniff"],
      );
    });

    it("answer HEAD with the same headers and no body", async () => {
      const answer = await fetch(api.url + SDK, { method: "HEAD" });
      assert.deepEqual([answer.status, await answer.text()], [200, ""]);
      assert.strictEqual(answer.headers.get("content-length"), String(built.length));
      assert.strictEqual(answer.headers.get("etag"), `"${sha256(built)}"`);
    });

    it("answer 304 to a client that has it, and send it to one with another", async () => {
      const etag = `"${sha256(built)}"`;
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        const answer = await fetch(api.url + SDK, { headers: { "if-none-match": known } });
        assert.deepEqual([answer.status, await answer.text(), answer.headers.get("etag")], [304, "", etag], known);
      }
      for (const other of ['"other"', etag.slice(1, -1), ""]) {
        const answer = await fetch(api.url + SDK, { headers: { "if-none-match": other } });
        assert.strictEqual(answer.status, 200, other);
        assert.strictEqual((await answer.arrayBuffer()).byteLength, built.length, other);
      }
    });

    it("answer 404 for any other name, and 405 for another method", async () => {
      const names = ["tools.tgz", "SDK.TGZ", "sdk", "sdk.tgz.new", "%2e%2e%2fpackage.json", "..%2f..%2fpackage.json"];
      for (const name of [...names, "sdk.tgz%00", "constructor"]) {
        assertError(await api.request("GET", `/downloads/${name}`), 404, "not_found");
      }
      assertError(await api.request("POST", SDK, { body: {} }), 405, "method_not_allowed");
      assertError(await api.request("GET", `${SDK}?as=zip`), 400, "validation_error");
    });

    it("are installed by npm into an empty folder, and imported there", async () => {
      const empty = mkdtempSync(join(tmpdir(), "stranger-"));
      try {
        writeFileSync(join(empty, "package.json"), '{"private": true, "type": "module"}');
        // In place of a registry, from which viem and the other dependencies would come.
        linkDependencies(empty, "sdk");
        const offline = ["--registry", "http://127.0.0.1:9", "--fetch-retries", "0", "--cache", join(empty, "cache")];
        const quiet = ["--no-audit", "--no-fund", "--no-update-notifier"];
        await run("npm", ["install", api.url + SDK, ...offline, ...quiet], { cwd: empty });
        const script = `import { Marketplace } from "${SDK_NAME}";
          import { verifyWebhook } from "${SDK_NAME}/webhooks";
          console.log(typeof new Marketplace({ url: "${api.url}" }).networks, typeof verifyWebhook);
          console.log((await new Marketplace({ url: "${api.url}" }).networks()).length);`;
        writeFileSync(join(empty, "use.js"), script);
        const { stdout } = await run(process.execPath, ["use.js"], { cwd: empty });
        assert.strictEqual(stdout, "function function\n2\n");
        const { dependencies } = JSON.parse(readFileSync(join(empty, "package.json"), "utf8")) as {
          dependencies: Record<string, string>;
        };
        assert.deepEqual(dependencies, { [SDK_NAME]: api.url + SDK });
        const lock = readFileSync(join(empty, "package-lock.json"), "utf8");
        assert.include(lock, `sha512-${createHash("sha512").update(built).digest("base64")}`);
      } finally {
        rmSync(empty, { recursive: true, force: true });
      }
    });
  });

  describe("with the command line", () => {
    it("are installed by npm into an empty folder, and run there", async () => {
      const empty = mkdtempSync(join(tmpdir(), "stranger-"));
      try {
        writeFileSync(join(empty, "package.json"), '{"private": true}');
        const unpacked = join(empty, "unpacked");
        mkdirSync(unpacked);
        writeFileSync(join(unpacked, "cli.tgz"), builtCli);
        await run("tar", ["-xzf", "cli.tgz", "--strip-components=1"], { cwd: unpacked });
        // In place of a registry, from which its dependencies would come.
        linkDependencies(empty, unpacked);
        const offline = ["--registry", "http://127.0.0.1:9", "--fetch-retries", "0", "--cache", join(empty, "cache")];
        const quiet = ["--no-audit", "--no-fund", "--no-update-notifier"];
        await run("npm", ["install", `${api.url}/downloads/cli.tgz`, ...offline, ...quiet], { cwd: empty });
        const program = join(empty, "node_modules", ".bin", "agent-marketplace");
        const env = {
          ...process.env,
          HOME: empty,
          XDG_CONFIG_HOME: join(empty, "config"),
          AGENT_MARKETPLACE_URL: api.url,
        };
        const command = (...args: string[]) => run(program, args, { env });
        assert.include((await command("--version")).stdout, readSdkManifest("sdk").version);
        const { stdout } = await command("search", "anything", "--json");
        assert.isArray((JSON.parse(stdout) as { services: unknown[] }).services);
      } finally {
        rmSync(empty, { recursive: true, force: true });
      }
    });
  });

  describe("without a package", () => {
    it("name the command that builds it, and hand it out once it is there", async () => {
      const downloadsDir = join(dir, "later");
      const bare = await startTestApi({ env: { downloadsDir }, oneProcess: "its files are this process's" });
      try {
        for (const path of ["/downloads", SDK]) {
          const answer = await bare.request("GET", path);
          assertError(answer, 503, "download_not_built");
          assert.deepEqual(answer.body.details, { command: "npm run build:downloads" }, path);
        }
        assertError(await bare.request("GET", "/downloads/tools.tgz"), 404, "not_found");
        const args = ["scripts/build-downloads.ts", "--out-dir", downloadsDir];
        const { stdout } = await run(process.execPath, args);
        assert.match(stdout, /^Packed .*later\/cli\.tgz\.\nPacked .*later\/sdk\.tgz\.\n$/);
        assert.isTrue(
          built.equals(readFileSync(join(downloadsDir, "sdk.tgz"))),
          "the same sources give the same bytes",
        );
        const { body } = await bare.request("GET", "/downloads");
        assert.deepEqual(
          (body.data as { sha256: string }[]).map((one) => one.sha256),
          [sha256(builtCli), sha256(built)],
        );

        // A newer package takes its place without a restart.
        const manifest = Buffer.from(JSON.stringify({ name: SDK_NAME, version: "9.9.9" }));
        const newer = packTarball(
          new Map([
            ["package/LICENSE", Buffer.from("MIT")],
            ["package/package.json", manifest],
          ]),
        );
        writeFileSync(join(dir, "newer.tgz"), newer);
        copyFileSync(join(dir, "newer.tgz"), join(downloadsDir, "sdk.tgz"));
        const [, { version, bytes }] = (await bare.request("GET", "/downloads")).body.data;
        assert.deepEqual([version, bytes], ["9.9.9", newer.length]);
        assert.strictEqual((await fetch(bare.url + SDK)).headers.get("etag"), `"${sha256(newer)}"`);
      } finally {
        await bare.close();
      }
    });
  });

  describe("asked too often", () => {
    it("count by address with the other routes without a key", async () => {
      const few = await startTestApi({ env: { limits: limitsWith({ keyless: 3 }) } });
      try {
        await few.request("GET", "/api/v1/networks");
        for (const path of ["/downloads", SDK]) assert.notStrictEqual((await few.request("GET", path)).status, 429);
        const refused = await few.request("GET", SDK);
        assertError(refused, 429, "rate_limit_exceeded");
        assert.deepEqual(refused.body.details, { window: "keyless", countedBy: "address", limit: 3 });
        assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/);
      } finally {
        await few.close();
      }
    });
  });
});

describe("a tarball", () => {
  it("has the same bytes for the same files, and none for a path that its format doesn't hold", () => {
    const files = new Map([["package/a", Buffer.from("a")]]);
    assert.isTrue(packTarball(files).equals(packTarball(files)));
    assert.throws(
      () => packTarball(new Map([["x".repeat(101), Buffer.alloc(0)]])),
      RangeError,
      "101 bytes, at most 100",
    );
  });
});
