// A mail server that fails or hangs at any point of a delivery: the request is answered, and the mail isn't lost.
import { createServer } from "node:net";
import type { Socket } from "node:net";

import { assert } from "chai";

import { smtpMailer } from "../../../api/features/developer/mailer.ts";
import { DeadlineExceededError } from "../../../api/lib/timeout.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { listening, portOf } from "../../fixtures/faults.ts";
import type { FaultyRoute } from "../../fixtures/faults.ts";
import { faultyMailServer } from "../../fixtures/faulty-mail.ts";
import { startMailServer, tokenOf } from "../../fixtures/mail-server.ts";
import type { MailServer } from "../../fixtures/mail-server.ts";

const RETRY_MS = 60_000;
const PHASE_MS = 250;
const KINDS = ["broken", "refused", "lost", "hangs", "mute"] as const;

describe("the mail of a request for developer access", () => {
  let mails: MailServer;
  let route: FaultyRoute;
  let api: TestApi;
  let agent: TestAgent;
  /** Added to the clock. */
  let laterMs = 0;

  before(async () => {
    mails = await startMailServer();
    route = await faultyMailServer(mails.url);
    api = await startTestApi({
      clock: { now: () => new Date(Date.now() + laterMs) },
      env: { mail: { smtpUrl: route.url, from: "Market <no-reply@market.test>" } },
      timings: { mailPhaseMs: PHASE_MS, mailRetryMs: RETRY_MS },
    });
    agent = await api.registerAgent();
  });
  after(async () => {
    await api.close();
    await route.close();
    await mails.close();
  });

  const sendDue = () =>
    api.container.features.developer.sendDueMails?.(api.container.log, new AbortController().signal);

  for (const kind of KINDS) {
    it(`comes later if the mail server fails at any point (${kind}), and its token counts`, async () => {
      for (let number = 1; ; number += 1) {
        const email = `${kind}-${number}@example.test`;
        route.fail(number, kind);
        const answer = await api.request("POST", "/api/developer/access", { body: { email } });
        assert.strictEqual(answer.status, 202, answer.text);
        assert.strictEqual(await sendDue(), 1);
        const { hasFailed } = route;
        const what = `${route.seen[number - 1] ?? "nothing"} ${kind}`;
        await route.recover();
        laterMs += RETRY_MS;
        await sendDue();
        const mail = mails.received.findLast(({ to }) => to.includes(email));
        const verified = await api.request("POST", "/api/developer/verify", {
          key: agent.apiKey,
          body: { token: tokenOf(mail) },
        });
        assert.strictEqual(verified.status, 200, `${what}: ${verified.text}`);
        if (!hasFailed) {
          assert.isAbove(number, 5, "connection, greeting, sender, recipient and message have failed");
          return;
        }
      }
    });
  }

  it("doesn't hold the worker while a server never ends its answer", async () => {
    const sockets = new Set<Socket>();
    const server = await listening(
      createServer((socket) => {
        socket.write("220 Welcome\r\n");
        const answering = setInterval(() => socket.write("250-more\r\n"), PHASE_MS / 5);
        socket
          .on("error", () => undefined)
          .on("close", () => {
            clearInterval(answering);
          });
        sockets.add(socket);
      }),
    );
    try {
      const timings = { mailPhaseMs: PHASE_MS, mailDeliveryMs: 2 * PHASE_MS };
      const send = smtpMailer({ smtpUrl: `smtp://127.0.0.1:${portOf(server)}`, from: "no-reply@market.test" }, timings);
      await assert.isRejected(
        send({ to: "dev@example.test", subject: "Your token", text: "0123" }),
        DeadlineExceededError,
      );
    } finally {
      for (const socket of sockets) socket.destroy();
      server.close();
    }
  });
});
