// The receivers of docs/api/webhooks.md, as the page has them.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { assert } from "chai";

import { deriveWebhookSecret } from "../../../api/features/webhooks/secrets/service.ts";
import { createWebhookSender } from "../../../api/features/webhooks/dispatches/sender.ts";
import { until } from "../../fixtures/until.ts";

const PAGE = new URL("../../../docs/api/webhooks.md", import.meta.url);
const SECRET = deriveWebhookSecret("a master of the test", "agt_1", 0);
const RECEIVERS = [
  { language: "js", file: "receiver.mjs", command: process.execPath },
  { language: "python", file: "receiver.py", command: "python3" },
];

for (const { language, file, command } of RECEIVERS) {
  describe(`the receiver in ${language} of docs/api/webhooks.md`, () => {
    const printed: string[] = [];
    let folder: string;
    let child: ChildProcess;
    let url: string;

    before(async () => {
      const [, code] = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "s").exec(await readFile(PAGE, "utf8")) ?? [];
      assert.ok(code !== undefined);
      folder = await mkdtemp(join(tmpdir(), "receiver-"));
      await writeFile(join(folder, file), code);
      child = spawn(command, [join(folder, file)], {
        env: { ...process.env, WEBHOOK_SECRET: SECRET, PORT: "0" },
        stdio: ["ignore", "pipe", "inherit"],
      });
      assert.ok(child.stdout !== null);
      createInterface(child.stdout).on("line", (line) => printed.push(line));
      const listening = await until("it listens", () => {
        assert.isNull(child.exitCode);
        return Promise.resolve(printed.find((line) => line.startsWith("listening ")));
      });
      url = `http://127.0.0.1:${listening.split(" ")[1] ?? ""}/hook`;
    });
    after(async () => {
      child.kill();
      await rm(folder, { recursive: true });
    });

    const nowSeconds = () => Math.floor(Date.now() / 1_000);
    const send = (fields: Partial<{ secret: string; timestamp: number; eventId: string }> = {}) =>
      createWebhookSender({ allowedPrivateHosts: ["127.0.0.1"] }).send({
        url,
        eventId: "evt_1",
        bodyJson: '{"event":"escrow.funded","text":"é"}',
        secret: SECRET,
        timestamp: nowSeconds(),
        ...fields,
      });
    const received = () => printed.filter((line) => line === "received escrow.funded").length;

    it("[S6.30] [S6.31] takes what the service signs, each event once", async () => {
      for (let n = 0; n < 2; n += 1) assert.strictEqual((await send()).statusCode, 204);
      assert.strictEqual((await send({ eventId: "evt_2", timestamp: nowSeconds() - 290 })).statusCode, 204);
      await until("both are printed", () => Promise.resolve(received() === 2));
    });

    it("[S6.30] [S6.32] [S6.33] [S6.34] answers 401 to another secret, an old signature, and a broken header", async () => {
      const before = received();
      assert.strictEqual((await send({ secret: `${SECRET.slice(0, -1)}x` })).statusCode, 401);
      for (const age of [310, -310]) {
        assert.strictEqual((await send({ timestamp: nowSeconds() - age, eventId: "evt_3" })).statusCode, 401);
      }
      const t = nowSeconds();
      const headers = [
        "",
        "t=1",
        `t=${t}`,
        `t=${t},v1=`,
        `t=${t},v1=00`,
        `t=${t},v1=${"0".repeat(64)}`,
        "v1=é,t=x",
        ",",
      ];
      for (const header of headers) {
        const signature = Buffer.from(header, "utf8").toString("latin1");
        const answer = await fetch(url, { method: "POST", body: "{}", headers: { "x-service-signature": signature } });
        assert.strictEqual(answer.status, 401, header);
      }
      assert.strictEqual(received(), before);
    });
  });
}
