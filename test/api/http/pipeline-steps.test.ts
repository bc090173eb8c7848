// The two places in the pipeline for policies such as request signatures, idempotency and payments.
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";

import { assert } from "chai";

import { createApp } from "../../../api/app.ts";
import { ApiError } from "../../../api/http/errors.ts";
import type { RouteResponse, PipelineSteps, Step, StepContext, ValidatedContext } from "../../../api/http/pipeline.ts";
import { listingBody, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";

const SERVICES = "/api/v1/services";
const DISCOVER = "/api/v1/discover";

describe("steps of the pipeline", () => {
  let api: TestApi;
  let agent: TestAgent;
  const servers: Server[] = [];

  before(async () => {
    api = await startTestApi({ search: true });
    agent = await api.registerAgent();
  });
  after(async () => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    await api.close();
  });

  /** Starts the same application with steps, and returns its address. */
  async function withSteps(steps: Partial<PipelineSteps>): Promise<string> {
    const all = { afterAdmission: [], afterValidation: [], ...steps };
    const handle = createApp(api.container, { steps: all }).callback();
    const server = createServer((request, response) => void handle(request, response));
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  const post = (url: string, body: string | Uint8Array, headers: Record<string, string> = {}) =>
    fetch(url, {
      method: "POST",
      body,
      headers: { "content-type": "application/json", "x-api-key": agent.apiKey, ...headers },
    });
  const countListings = () => api.container.connection.collection("listings").countDocuments();

  it("run around each other in the order of their places and lists", async () => {
    const trace: string[] = [];
    const traced =
      (name: string): Step =>
      async (context, next) => {
        trace.push(`${name} ${context.caller === undefined ? "unknown" : "known"}`);
        const answer = await next();
        trace.push(`${name} ${answer.status}`);
        return answer;
      };
    const url = await withSteps({
      afterAdmission: [traced("a"), traced("b"), traced("c")],
      afterValidation: [traced("d"), traced("e")],
    });
    assert.strictEqual((await post(url + SERVICES, JSON.stringify(listingBody()))).status, 201);
    const inwards = ["a known", "b known", "c known", "d known", "e known"];
    assert.deepEqual(trace, [...inwards, "e 201", "d 201", "c 201", "b 201", "a 201"]);
  });

  it("see the request: method, path, headers, caller, parsed input and the bytes of the body", async () => {
    const seen: ValidatedContext[] = [];
    const url = await withSteps({
      afterValidation: [
        (context, next) => {
          seen.push(context);
          return next();
        },
      ],
    });
    const text = JSON.stringify(listingBody({ title: "Grüße" }));
    const headers = { "x-trace": "7", "content-encoding": "gzip" };
    assert.strictEqual((await post(`${url}${SERVICES}`, gzipSync(text), headers)).status, 201);
    const [context] = seen;
    assert.ok(context?.caller !== undefined);
    assert.deepEqual([context.method, context.path, context.headers["x-trace"]], ["POST", SERVICES, "7"]);
    assert.deepEqual([context.route.path, context.route.limitClass], [SERVICES, "general"]);
    assert.strictEqual(context.caller.agentId, agent.agentId);
    assert.strictEqual(context.bodyBytes?.toString("utf8"), text);
    assert.strictEqual((context.input.body as { title: string }).title, "Grüße");
    assert.deepEqual([context.ip, context.signal instanceof AbortSignal], ["127.0.0.1", true]);

    await fetch(`${url}/api/v1/categories`);
    assert.deepEqual([seen[1]?.bodyBytes, seen[1]?.caller], [undefined, undefined]);
  });

  it("see the answer as it will be sent, and may add a header", async () => {
    let kept: RouteResponse | undefined;
    const url = await withSteps({
      afterValidation: [
        async (_, next) => {
          kept = await next();
          return { ...kept, headers: { ...kept.headers, "X-Receipt": "paid" } };
        },
      ],
    });
    const answer = await post(url + SERVICES, JSON.stringify(listingBody()));
    assert.strictEqual(answer.headers.get("x-receipt"), "paid");
    assert.deepEqual([kept?.status, kept?.type, kept?.body], [201, "application/json", await answer.text()]);
  });

  it("may answer early: the handler doesn't run, and a stored answer is sent unchanged", async () => {
    const stored = new Map<string, RouteResponse>();
    const replay: Step<ValidatedContext> = async (context, next) => {
      const key = String(context.headers["idempotency-key"]);
      const earlier = stored.get(key);
      if (earlier !== undefined) return earlier;
      const answer = await next();
      stored.set(key, answer);
      return answer;
    };
    const url = await withSteps({ afterValidation: [replay] });
    const send = () => post(url + SERVICES, JSON.stringify(listingBody()), { "idempotency-key": "k1" });
    const before = await countListings();
    const [first, second] = [await send(), await send()];
    assert.strictEqual(await countListings(), before + 1);
    assert.deepEqual([first.status, second.status], [201, 201]);
    assert.strictEqual(first.headers.get("content-type"), second.headers.get("content-type"));
    assert.strictEqual(await first.text(), await second.text());
  });

  it("see later errors, may refuse a request, and also set headers on errors", async () => {
    const undone: unknown[] = [];
    const limited: Step = async (context, next) => {
      context.setHeader("X-Trace", "100");
      if (context.headers["x-refuse"] !== undefined) throw new ApiError("service_unavailable");
      return next();
    };
    const undo: Step = async (_, next) => {
      try {
        return await next();
      } catch (error) {
        undone.push((error as ApiError).code);
        throw error;
      }
    };
    const url = await withSteps({ afterAdmission: [limited], afterValidation: [undo] });
    const missing = await fetch(`${url}${SERVICES}/lst_unknown`, { headers: { "x-api-key": agent.apiKey } });
    assert.deepEqual([missing.status, missing.headers.get("x-trace")], [404, "100"]);
    assert.deepEqual(undone, ["not_found"]);
    const refused = await post(url + SERVICES, "{}", { "x-refuse": "1" });
    assert.deepEqual([refused.status, refused.headers.get("x-trace")], [503, "100"]);
  });

  it("know the caller of discover, if any, for its budget", async () => {
    const callers: StepContext["caller"][] = [];
    const url = await withSteps({
      afterAdmission: [
        (context, next) => {
          callers.push(context.caller);
          assert.deepEqual([context.route.limitClass, context.route.budget], ["discover", "search"]);
          return next();
        },
      ],
    });
    const body = JSON.stringify({ query: "risk" });
    assert.strictEqual((await post(url + DISCOVER, body)).status, 200);
    const headers = { "content-type": "application/json" };
    assert.strictEqual((await fetch(url + DISCOVER, { method: "POST", body, headers })).status, 200);
    assert.deepEqual(
      callers.map((caller) => caller?.agentId),
      [agent.agentId, undefined],
    );
  });
});
