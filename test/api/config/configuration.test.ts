import { assert } from "chai";

import { ConfigurationError, loadEnv } from "../../../api/config/env.ts";
import { errorOf } from "../../fixtures/rejection.ts";

const complete = {
  MONGODB_URI: "mongodb://127.0.0.1:1/?replicaSet=rs0",
  RPC_URL_BASE_SEPOLIA: "http://127.0.0.1:8545",
  RPC_URL_BASE: "http://127.0.0.1:8546",
  SUBGRAPH_URL_BASE_SEPOLIA: "http://127.0.0.1:8000/a",
  SUBGRAPH_URL_BASE: "http://127.0.0.1:8000/b",
};
const STRONG_SECRET = "0123456789abcdef0123456789abcdef";

describe("configuration", () => {
  it("has defaults for everything except the addresses of other services", () => {
    const env = loadEnv(complete);
    assert.deepEqual(
      [env.mode, env.host, env.port, env.publicUrl],
      ["development", "127.0.0.1", 3_000, "http://127.0.0.1:3000"],
    );
    assert.strictEqual(
      loadEnv({ ...complete, PUBLIC_URL: "https://market.example/" }).publicUrl,
      "https://market.example",
    );
  });

  it("names every variable that is missing or wrong", () => {
    const wrong = {
      ...complete,
      MONGODB_URI: undefined,
      RPC_URL_BASE: "",
      PORT: "70000",
      LOG_LEVEL: "loud",
      SUBGRAPH_URL_BASE: "x",
    };
    const { message } = errorOf(() => loadEnv(wrong), ConfigurationError);
    for (const part of [
      "MONGODB_URI is missing",
      "RPC_URL_BASE is missing",
      "PORT",
      "LOG_LEVEL",
      "SUBGRAPH_URL_BASE",
    ]) {
      assert.include(message, part);
    }
  });

  it("bounds the connections of an address, unless they are a proxy's or the operator bounds none", () => {
    const bound = (fields: Record<string, string>) => loadEnv({ ...complete, ...fields }).connectionsPerAddress;
    assert.strictEqual(bound({}), 200);
    assert.strictEqual(bound({ CONNECTIONS_PER_ADDRESS: "7" }), 7);
    assert.isUndefined(bound({ CONNECTIONS_PER_ADDRESS: "0" }));
    assert.isUndefined(bound({ CONNECTIONS_PER_ADDRESS: "7", TRUST_PROXY: "1" }));
    assert.throws(() => bound({ CONNECTIONS_PER_ADDRESS: "-1" }), /CONNECTIONS_PER_ADDRESS/);
  });

  it("publishes a subgraph's address only if it is on loopback or declared public", () => {
    const told = (fields: Record<string, string>) => loadEnv({ ...complete, ...fields }).publicSubgraphUrls;
    assert.deepEqual(told({}), { "base-sepolia": "http://127.0.0.1:8000/a", base: "http://127.0.0.1:8000/b" });
    for (const loopback of ["http://localhost:8000/a", "http://127.0.0.2/a", "http://[::1]:8000/a"]) {
      assert.strictEqual(told({ SUBGRAPH_URL_BASE: loopback }).base, loopback);
    }
    const secret = [
      "https://gateway.example/api/0123456789abcdef/subgraphs/id/x",
      "http://10.0.0.5:8000/subgraphs/name/x",
      "http://127.0.0.1.example/key/x",
      "http://localhost.example/key/x",
      "http://user:secret@127.0.0.1:8000/x",
    ];
    for (const address of secret) {
      assert.strictEqual(told({ SUBGRAPH_URL_BASE: address }).base, null, address);
      const SUBGRAPH_PUBLIC_URL_BASE = "https://query.example/subgraphs/x";
      assert.strictEqual(told({ SUBGRAPH_URL_BASE: address, SUBGRAPH_PUBLIC_URL_BASE }).base, SUBGRAPH_PUBLIC_URL_BASE);
    }
    for (const wrong of ["nowhere", "https://user:secret@query.example/x"]) {
      assert.throws(() => told({ SUBGRAPH_PUBLIC_URL_BASE_SEPOLIA: wrong }), /SUBGRAPH_PUBLIC_URL_BASE_SEPOLIA/);
    }
  });

  it("[S6.35] production does not start without the webhook signing secret, nor with a weak one", () => {
    for (const secret of [undefined, "", " , ", "short", `${STRONG_SECRET},short`]) {
      const env = { ...complete, NODE_ENV: "production", WEBHOOK_SIGNING_SECRET: secret };
      assert.throws(() => loadEnv(env), /WEBHOOK_SIGNING_SECRET/);
    }
    const env = loadEnv({
      ...complete,
      NODE_ENV: "production",
      WEBHOOK_SIGNING_SECRET: `${STRONG_SECRET}, ${STRONG_SECRET}2`,
    });
    assert.deepEqual(env.webhookSigningSecrets, [STRONG_SECRET, `${STRONG_SECRET}2`]);
  });

  it("embeds with a server only if a model is named, and the judge's key doesn't name one", () => {
    const of = (fields: Record<string, string>) => loadEnv({ ...complete, ...fields }).embeddingProvider;
    assert.isUndefined(of({}));
    assert.isUndefined(
      of({ OPENAI_API_KEY: "sk-judge", OPENAI_MODEL: "judge", OPENAI_BASE_URL: "https://judge.example" }),
    );
    assert.deepEqual(of({ EMBEDDING_MODEL: "text-embedding-3-small", EMBEDDING_API_KEY: "sk-1" }), {
      baseUrl: "https://api.openai.com/v1",
      apiKey: "sk-1",
      model: "text-embedding-3-small",
      dimensions: 512,
      sendsDimensions: true,
      maxTextBytes: 8_192,
      dailyTokens: 10_000_000,
    });
    const own = {
      EMBEDDING_MODEL: "e5",
      EMBEDDING_BASE_URL: "http://127.0.0.1:1/v1",
      EMBEDDING_SEND_DIMENSIONS: "false",
    };
    const judge = { OPENAI_API_KEY: "sk-judge", OPENAI_MODEL: "judge" };
    const { apiKey, sendsDimensions } = of({ ...own, ...judge }) ?? {};
    assert.deepEqual([apiKey, sendsDimensions], [undefined, false]);
  });

  it("says what an embedding server lacks, and what is wrong with its settings", () => {
    const messageOf = (fields: Record<string, string>) =>
      errorOf(() => loadEnv({ ...complete, ...fields }), ConfigurationError).message;
    const judge = { OPENAI_API_KEY: "sk-judge", OPENAI_MODEL: "judge" };
    assert.include(messageOf({ ...judge, EMBEDDING_MODEL: "x" }), "EMBEDDING_API_KEY is missing");
    assert.include(messageOf({ EMBEDDING_API_KEY: "sk-1" }), "EMBEDDING_MODEL is missing: EMBEDDING_API_KEY");
    const baseUrl = { EMBEDDING_BASE_URL: "http://127.0.0.1:1/v1" };
    assert.include(messageOf(baseUrl), "EMBEDDING_MODEL is missing: EMBEDDING_BASE_URL");
    const wrong: Record<string, string[]> = {
      EMBEDDING_DIMENSIONS: ["63", "4097", "many"],
      EMBEDDING_DAILY_TOKENS: ["9999", "-1", "1e9"],
      EMBEDDING_MAX_TEXT_BYTES: ["199", "100001"],
      EMBEDDING_SEND_DIMENSIONS: ["yes"],
      EMBEDDING_BASE_URL: ["nowhere", "ftp://x", "https://user:secret@embed.example/v1"],
      EMBEDDING_MODEL: ["two words", "x".repeat(101)],
      EMBEDDING_API_KEY: ["sk secret", "sk-secret\n"],
    };
    const right = { EMBEDDING_MODEL: "x", EMBEDDING_API_KEY: "sk-1" };
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values) {
        const message = messageOf({ ...right, [name]: value });
        assert.include(message, name);
        assert.notInclude(message, "secret");
      }
    }
    for (const dimensions of ["64", "4096"]) loadEnv({ ...complete, ...right, EMBEDDING_DIMENSIONS: dimensions });
  });

  it("reads the store of a search index in a bucket, and Amazon's variables for nothing else", () => {
    const of = (fields: Record<string, string>) => loadEnv({ ...complete, ...fields }).searchIndexStore;
    const amazon = { AWS_REGION: "eu-central-1", AWS_ACCESS_KEY_ID: "AKIA1", AWS_SECRET_ACCESS_KEY: "s/e+c" };
    for (const url of ["", "/data/search", "gs://bucket/prefix", "az://box"]) {
      assert.isUndefined(of({ SEARCH_INDEX_URL: url, ...amazon, AWS_ENDPOINT_URL: "nowhere" }), url);
    }
    const keys = { id: "AKIA1", secret: "s/e+c", sessionToken: undefined };
    const bucket = { SEARCH_INDEX_URL: "s3://bucket/prefix" };
    assert.deepEqual(of({ ...bucket, ...amazon }), { endpoint: undefined, region: "eu-central-1", keys });
    const session = { AWS_SESSION_TOKEN: "t" };
    assert.strictEqual(of({ ...bucket, ...amazon, ...session })?.keys?.sessionToken, "t");
    // The role of the machine signs.
    assert.isUndefined(of({ ...bucket, AWS_REGION: "eu-central-1" })?.keys);
    const own = { AWS_ENDPOINT_URL: "http://127.0.0.1:9000/", AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" };
    const { endpoint, region } = of({ ...bucket, ...own }) ?? {};
    assert.deepEqual([endpoint, region], ["http://127.0.0.1:9000", "us-east-1"]);
  });

  it("names what a search index in a bucket lacks, and what is wrong with its settings", () => {
    const messageOf = (fields: Record<string, string>) =>
      errorOf(() => loadEnv({ ...complete, ...fields }), ConfigurationError).message;
    for (const url of [
      "s3://",
      "s3:///prefix",
      "s3://Bucket/x",
      "s3://bucket?x",
      "s4://bucket",
      "https://x",
      "gs://",
    ]) {
      assert.include(messageOf({ SEARCH_INDEX_URL: url }), "SEARCH_INDEX_URL must be", url);
    }
    const bucket = { SEARCH_INDEX_URL: "s3://bucket/prefix" };
    assert.include(messageOf(bucket), "AWS_REGION is missing");
    const amazon = { ...bucket, AWS_REGION: "eu-central-1" };
    assert.include(messageOf({ ...amazon, AWS_ACCESS_KEY_ID: "a" }), "AWS_SECRET_ACCESS_KEY is missing");
    const needing: Record<string, string> = {
      AWS_SECRET_ACCESS_KEY: "secret",
      AWS_SESSION_TOKEN: "secret",
      AWS_ENDPOINT_URL: "http://127.0.0.1:9000",
    };
    for (const [name, value] of Object.entries(needing)) {
      const message = messageOf({ ...amazon, [name]: value });
      assert.match(message, new RegExp(`AWS_ACCESS_KEY_ID is missing: .*${name}`));
      assert.notInclude(message, "secret");
    }
    const right = { ...amazon, AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" };
    const wrong: Record<string, string[]> = {
      AWS_ENDPOINT_URL: ["nowhere", "ftp://x", "https://user:secret@store.example", "https://store.example/?secret"],
      AWS_REGION: ["EU", "secret region"],
      AWS_ACCESS_KEY_ID: ["two secrets"],
      AWS_SECRET_ACCESS_KEY: ["secret\n"],
      AWS_SESSION_TOKEN: ["secret token"],
    };
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values) {
        const message = messageOf({ ...right, [name]: value });
        assert.include(message, name);
        assert.notInclude(message, "secret");
      }
    }
  });

  it("[D31] mails go to the server, else to the log, but in production never to the log", () => {
    const mailOf = (fields: Record<string, string>) => loadEnv({ ...complete, ...fields }).mail;
    const production = { NODE_ENV: "production", WEBHOOK_SIGNING_SECRET: STRONG_SECRET };
    assert.deepEqual([mailOf({}), mailOf(production)], ["log", "none"]);
    const server = { SMTP_URL: "smtps://user:secret@mail.example:465", PUBLIC_URL: "https://market.example:8443" };
    assert.deepEqual(mailOf({ ...production, ...server }), {
      smtpUrl: server.SMTP_URL,
      from: "no-reply@market.example",
    });
    const MAIL_FROM = "Market <hello@market.example>";
    assert.deepEqual(mailOf({ ...server, MAIL_FROM }), { smtpUrl: server.SMTP_URL, from: MAIL_FROM });
    assert.throws(() => mailOf({ SMTP_URL: "https://mail.example" }), /SMTP_URL/);
    for (const from of ["nobody", "a@b.example\r\nBcc: c@d.example"]) {
      assert.throws(() => mailOf({ ...server, MAIL_FROM: from }), /MAIL_FROM/);
    }
  });
});
