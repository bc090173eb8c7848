import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";

import { assert } from "chai";
import Koa from "koa";

import { routes } from "../../../api/app.ts";
import { ApiError, ERROR_CATALOGUE } from "../../../api/http/errors.ts";
import type { ErrorCode } from "../../../api/http/errors.ts";
import { requestContext } from "../../../api/http/middleware/request-context.ts";
import { systemClock } from "../../../api/lib/clock.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { createMetrics } from "../../../api/lib/metrics.ts";

const silent = createLogger({ level: "silent", name: "test" });

describe("errors", () => {
  it("[S7.21] docs/api/errors.md says that a non-JSON 403 may be a CDN's block, and lists each code", async () => {
    const page = await readFile(new URL("../../../docs/api/errors.md", import.meta.url), "utf8");
    assert.match(page, /403 that is not JSON/);
    assert.match(page, /bot protection/);
    for (const code of Object.keys(ERROR_CATALOGUE)) assert.ok(page.includes(`\`${code}\``), code);
  });

  it("[S7.21] each 403 from the service is JSON", async () => {
    const refusals = Object.entries(ERROR_CATALOGUE).filter(([, { status }]) => status === 403);
    assert.ok(refusals.length >= 3);
    for (const [code, { text }] of refusals) {
      const app = new Koa();
      app.use(
        requestContext({
          log: silent,
          clock: systemClock,
          translate: () => undefined,
          metrics: createMetrics(),
          defaultHeaders: {},
          publicUrl: "",
        }) as Koa.Middleware,
      );
      app.use(() => {
        throw new ApiError(code as ErrorCode);
      });
      const server = app.listen(0, "127.0.0.1");
      await once(server, "listening");
      const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
      const body = await answer.text();
      server.closeAllConnections();
      server.close();
      assert.strictEqual(answer.status, 403);
      assert.match(answer.headers.get("content-type") ?? "", /^application\/json\b/, code);
      assert.deepEqual(JSON.parse(body), { success: false, error: text, code });
    }
  });

  it("a body has the catalogue's text and nothing of what caused the error", () => {
    const cause = new Error("connect ECONNREFUSED mongodb://10.0.0.7");
    for (const code of Object.keys(ERROR_CATALOGUE) as ErrorCode[]) {
      const body = new ApiError(code, { cause }).toBody();
      const { text } = ERROR_CATALOGUE[code];
      // Section 4, row 32, gives this body to the letter.
      const expected: object = code === "inactive_api_key" ? { error: text } : { success: false, error: text, code };
      assert.deepEqual<object>(body, expected);
    }
  });

  it("codes are snake_case with a client or server error status, and every route lists known ones", () => {
    for (const [code, { status, text }] of Object.entries(ERROR_CATALOGUE)) {
      assert.match(code, /^[a-z]+(_[a-z0-9]+)*$/);
      assert.ok(status >= 400 && status < 600 && text.length > 0, code);
    }
    for (const { path, errors } of routes) {
      for (const code of errors) assert.ok(code in ERROR_CATALOGUE, `${path}: ${code}`);
    }
  });
});
