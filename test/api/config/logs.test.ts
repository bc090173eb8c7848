import { assert } from "chai";

import { ChainUnavailableError } from "../../../api/chain/errors.ts";
import { createRpc } from "../../../api/chain/rpc.ts";
import { createLogger } from "../../../api/lib/logger.ts";

describe("logs", () => {
  it("secrets never reach the log", () => {
    const lines: string[] = [];
    const log = createLogger({ level: "info", name: "test", destination: { write: (line) => lines.push(line) } });
    const secret = "svc_secret-that-nobody-may-read";
    log.info({ apiKey: secret, headers: { authorization: secret, "x-api-key": secret, "x-payment": secret } }, "one");
    log.info({ body: { signature: secret, deep: { privateKey: secret, plaintext: secret } } }, "two");
    assert.strictEqual(lines.length, 2);
    assert.ok(!lines.join("").includes(secret), lines.join(""));
  });

  it("the keys that providers put into addresses never reach the log with an error", async () => {
    const lines: string[] = [];
    const log = createLogger({ level: "info", name: "test", destination: { write: (line) => lines.push(line) } });
    const rpcUrl = "http://user:pass-7f3a@127.0.0.1:9/v2/key-7f3a?token=query-7f3a";
    const rpc = createRpc({ network: "base", rpcUrl, timeoutMs: 500, attempts: 1 });
    const error: unknown = await rpc((client) => client.getChainId()).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof ChainUnavailableError);
    log.error({ err: error }, "one");
    log.error({ err: error.cause }, "two");
    log.error({ err: new Error("cannot reach mongodb://admin:pass-7f3a@db.example:27017/market?x=1") }, "three");
    log.error({ err: "a text alone" }, "four");
    assert.strictEqual(lines.length, 4);
    assert.notMatch(lines.join(""), /7f3a/);
    assert.match(lines[0] ?? "", /ChainUnavailableError.*http:\/\/127\.0\.0\.1:9\//s);
    assert.match(lines[2] ?? "", /db\.example:27017/);
    assert.match(lines[3] ?? "", /a text alone/);
  });
});
