// A facilitator that wants each request to be authorised, as that of the Coinbase Developer Platform does.
import { generateKeyPairSync, randomBytes } from "node:crypto";
import type { KeyObject } from "node:crypto";

import { assert } from "chai";
import { jwtVerify } from "jose";

import { facilitatorSecret } from "../../../api/config/facilitator-key.ts";
import { facilitatorAuthorization } from "../../../api/features/x402/settling/facilitator-authorization.ts";
import { startApiProcess } from "../../fixtures/api-process.ts";
import { startFacilitator } from "../../fixtures/facilitator.ts";
import type { RunningFacilitator } from "../../fixtures/facilitator.ts";
import {
  CALL_UNITS,
  headerV1,
  headerV2,
  paymentSettings,
  signTransfer,
  startPaidApi,
} from "../../fixtures/payments.ts";
import { registrationBody } from "../../fixtures/sign-in.ts";
import { openChain } from "../../fixtures/stack.ts";

const SERVICES = "/api/v1/services";
const KEY_ID = "1f4b6a3c-2d51-4be8-9a4e-6f3f5d0f7c11";
const ROUTE = "/platform/v2/x402";

/** An Ed25519 secret as the platform hands it out: seed and public key. */
function ed25519Secret(): { text: string; publicKey: KeyObject } {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const { d = "", x = "" } = privateKey.export({ format: "jwk" });
  return {
    text: Buffer.concat([Buffer.from(d, "base64url"), Buffer.from(x, "base64url")]).toString("base64"),
    publicKey,
  };
}

function p256Secret(type: "sec1" | "pkcs8"): { text: string; publicKey: KeyObject } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { text: privateKey.export({ type, format: "pem" }).toString(), publicKey };
}

describe("a facilitator that wants authorisation", () => {
  let facilitator: RunningFacilitator;
  /** Tokens of the requests so far. */
  let tokens: string[];

  before(async () => {
    facilitator = await startFacilitator("base-sepolia");
  });
  beforeEach(() => {
    tokens = [];
  });
  after(() => facilitator.close());

  /** Admits what is signed with a key for this very request, and for two minutes. */
  function admitOnly(publicKey: KeyObject, algorithm: string): void {
    const { host } = new URL(facilitator.url);
    facilitator.authorize = async (path, authorization) => {
      const [scheme, token = ""] = authorization.split(" ");
      const { payload, protectedHeader } = await jwtVerify(token, publicKey, {
        algorithms: [algorithm],
        issuer: "cdp",
        subject: KEY_ID,
        typ: "JWT",
        maxTokenAge: 5,
        requiredClaims: ["iat", "nbf", "exp"],
      });
      assert.strictEqual(scheme, "Bearer");
      assert.deepEqual(payload["uris"], [`POST ${host}${path}`]);
      assert.strictEqual((payload.exp ?? 0) - (payload.iat ?? 0), 120);
      assert.strictEqual(protectedHeader.kid, KEY_ID);
      assert.match(String(protectedHeader["nonce"]), /^[0-9a-f]{32}$/);
      tokens.push(token);
    };
  }

  for (const [what, secret, algorithm, slash] of [
    ["an Ed25519 key", ed25519Secret(), "EdDSA", ""],
    ["an ECDSA key", p256Secret("pkcs8"), "ES256", "/"],
  ] as const) {
    it(`takes and settles payments that are authorised with ${what}, each request with a token of its own`, async () => {
      admitOnly(secret.publicKey, algorithm);
      const privateKey = facilitatorSecret.parse(secret.text);
      const facilitatorUrl = `${facilitator.url}${slash}`;
      const paid = await startPaidApi({ x402: { facilitatorUrl, facilitatorKey: { id: KEY_ID, privateKey } } });
      try {
        const agent = await paid.richAgent();
        const proofs = [
          headerV1(await signTransfer(paid, agent.account)),
          headerV2(paid, await signTransfer(paid, agent.account)),
        ];
        for (const headers of proofs) {
          const answer = await paid.api.request("GET", SERVICES, { key: agent.apiKey, headers });
          assert.strictEqual(answer.status, 200, answer.text);
        }
        assert.lengthOf(new Set(tokens), 4);
        assert.strictEqual(await paid.chain.usdcOf(paid.payTo), 2n * CALL_UNITS.api);
      } finally {
        await paid.close();
      }
    });
  }

  it("and refuses it: 503, nothing is reserved, and the log has neither secret nor token", async () => {
    admitOnly(ed25519Secret().publicKey, "EdDSA");
    const presented: string[] = [];
    const { authorize } = facilitator;
    facilitator.authorize = async (path, authorization) => {
      presented.push(authorization.replace("Bearer ", ""));
      await authorize?.(path, authorization);
    };
    const secret = p256Secret("sec1").text;
    const { payTo = "0x" } = paymentSettings("base-sepolia");
    const chain = await openChain("base-sepolia");
    const usdc = chain.deployment.tokens.find(({ symbol }) => symbol === "USDC")?.address ?? "0x";
    const api = await startApiProcess(`test_authorization_${randomBytes(6).toString("hex")}`, {
      X402_PAY_TO: payTo,
      X402_FACILITATOR_URL: facilitator.url,
      BUDGET_API: "1",
      LOG_LEVEL: "trace",
      X402_FACILITATOR_KEY_ID: KEY_ID,
      X402_FACILITATOR_KEY_SECRET: secret.replaceAll("\n", "\\n"),
    });
    try {
      const { account, body } = await registrationBody();
      const registered = await fetch(`${api.url}/api/v1/auth/register`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const { apiKey } = (await registered.json()) as { apiKey: string };
      await chain.endow(account, { usdc: 1_000_000n });
      const get = (proof: Record<string, string> = {}) =>
        fetch(api.url + SERVICES, { headers: { "x-api-key": apiKey, ...proof } });
      assert.strictEqual((await get()).status, 200);
      const proof = headerV1(await signTransfer({ chain, usdc, payTo }, account));
      for (let time = 1; time <= 2; time += 1) {
        const answer = await get(proof);
        assert.strictEqual(answer.status, 503);
        assert.strictEqual(((await answer.json()) as { code: string }).code, "facilitator_unavailable");
      }
      assert.strictEqual(await chain.usdcOf(payTo), 0n);
      assert.isNotEmpty(presented);
      await api.stop();
      const log = api.log.join("\n");
      assert.include(log, "Facilitator verify failed (401)");
      const [, line = ""] = secret.split("\n");
      for (const hidden of [line, ...presented]) assert.isFalse(log.includes(hidden));
    } finally {
      api.kill();
    }
  });

  it("has its address in the token without the trailing slash, and with its path", async () => {
    const { text, publicKey } = ed25519Secret();
    const key = { id: KEY_ID, privateKey: facilitatorSecret.parse(text) };
    const headers = await facilitatorAuthorization(`https://api.cdp.coinbase.com${ROUTE}/`, key)();
    const urisOf = async (authorization = "") => (await jwtVerify(authorization.slice(7), publicKey)).payload["uris"];
    assert.deepEqual(await urisOf(headers.verify?.["Authorization"]), [`POST api.cdp.coinbase.com${ROUTE}/verify`]);
    assert.deepEqual(await urisOf(headers.settle?.["Authorization"]), [`POST api.cdp.coinbase.com${ROUTE}/settle`]);
  });
});
