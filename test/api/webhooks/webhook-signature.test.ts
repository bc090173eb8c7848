import crypto, { createHmac } from "node:crypto";
import { syncBuiltinESMExports } from "node:module";

import { assert } from "chai";

import { deriveWebhookSecret } from "../../../api/features/webhooks/secrets/service.ts";
import { signWebhook, verifyWebhookSignature } from "../../../api/features/webhooks/secrets/signature.ts";
import { WebhookReceiver, acceptSigned } from "../../../scripts/demo/receiver.ts";

const SECRET = "whsec_of-the-test";
const BODY = '{"event":"escrow.funded","n":1}';
const NOW = 1_800_000_000;
const header = signWebhook(SECRET, BODY, NOW);

describe("the signature of a webhook", () => {
  it("[S6.27] [S6.28] is t=<unix seconds>,v1=<hex HMAC-SHA256 of t.body>", () => {
    const expected = createHmac("sha256", SECRET).update(`${NOW}.${BODY}`).digest("hex");
    assert.strictEqual(header, `t=${NOW},v1=${expected}`);
    assert.match(header, /^t=\d+,v1=[0-9a-f]{64}$/);
  });

  it("[S6.29] is verified by splitting the header at the comma", () => {
    assert.ok(verifyWebhookSignature(SECRET, header, BODY, NOW));
    assert.ok(verifyWebhookSignature(SECRET, header.split(",").reverse().join(","), BODY, NOW));
    assert.ok(!verifyWebhookSignature(SECRET, header.replace(",", ";"), BODY, NOW));
  });

  it("[S6.30] is valid for 300 seconds in the past and in the future, and not for 301", () => {
    for (const distance of [0, 300, -300]) assert.ok(verifyWebhookSignature(SECRET, header, BODY, NOW + distance));
    for (const distance of [301, -301]) assert.ok(!verifyWebhookSignature(SECRET, header, BODY, NOW + distance));
  });

  it("[S6.31] is compared in constant time, with timingSafeEqual on the whole HMACs", () => {
    const forged = header.replace(/v1=.*/, `v1=${"0".repeat(64)}`);
    let word = true;
    const genuine = crypto.timingSafeEqual;
    const compared: ArrayBufferView[][] = [];
    crypto.timingSafeEqual = (...sides: ArrayBufferView[]) => {
      compared.push(sides);
      return word;
    };
    syncBuiltinESMExports();
    try {
      assert.ok(verifyWebhookSignature(SECRET, forged, BODY, NOW));
      word = false;
      assert.ok(!verifyWebhookSignature(SECRET, header, BODY, NOW));
      for (const sides of compared) {
        const [given, expected] = sides.map(({ byteLength }) => byteLength);
        assert.ok(given === expected && (given === 32 || given === 64), "32 bytes, or their 64 hexadecimal digits");
      }
      assert.strictEqual(compared.length, 2);
    } finally {
      crypto.timingSafeEqual = genuine;
      syncBuiltinESMExports();
    }
    assert.ok(verifyWebhookSignature(SECRET, header, BODY, NOW) && !verifyWebhookSignature(SECRET, forged, BODY, NOW));
  });

  it("[S6.32] is rejected with another length", () => {
    assert.ok(!verifyWebhookSignature(SECRET, header.slice(0, -1), BODY, NOW));
    assert.ok(!verifyWebhookSignature(SECRET, `${header}0`, BODY, NOW));
    assert.ok(!verifyWebhookSignature(SECRET, `t=${NOW},v1=`, BODY, NOW));
  });

  it("[S6.33] is rejected without t, without v1, and without a header", () => {
    const [t, v1] = header.split(",");
    for (const part of [t, v1, "", undefined, ","]) assert.ok(!verifyWebhookSignature(SECRET, part, BODY, NOW));
  });

  it("isn't valid for another body, secret or time", () => {
    assert.ok(!verifyWebhookSignature(SECRET, header, `${BODY} `, NOW));
    assert.ok(!verifyWebhookSignature("whsec_another", header, BODY, NOW));
    assert.ok(!verifyWebhookSignature(SECRET, header.replace(`t=${NOW}`, `t=${NOW + 1}`), BODY, NOW));
    assert.ok(!verifyWebhookSignature(SECRET, header.replace(`t=${NOW}`, "t=soon"), BODY, NOW));
  });

  it("[S6.34] that is invalid gets a 401 from a receiver", async () => {
    const receiver = await WebhookReceiver.start(acceptSigned(() => SECRET));
    try {
      const post = async (signature: string | undefined) => {
        const headers = { ...(signature === undefined ? {} : { "x-service-signature": signature }) };
        return (await fetch(receiver.url, { method: "POST", body: BODY, headers })).status;
      };
      const now = Math.floor(Date.now() / 1000);
      assert.strictEqual(await post(undefined), 401);
      assert.strictEqual(await post(signWebhook("whsec_another", BODY, now)), 401);
      assert.strictEqual(await post(signWebhook(SECRET, BODY, now - 400)), 401);
      assert.strictEqual(await post(signWebhook(SECRET, BODY, now)), 204);
    } finally {
      await receiver.close();
    }
  });
});

describe("the secret of a webhook", () => {
  it("[D38] differs by agent, rotation and master", () => {
    const secrets = [
      deriveWebhookSecret("master-one", "agt_1", 0),
      deriveWebhookSecret("master-one", "agt_2", 0),
      deriveWebhookSecret("master-one", "agt_1", 1),
      deriveWebhookSecret("master-two", "agt_1", 0),
    ];
    assert.strictEqual(new Set(secrets).size, 4);
    assert.strictEqual(deriveWebhookSecret("master-one", "agt_1", 0), secrets[0]);
    for (const secret of secrets) assert.match(secret, /^whsec_[0-9a-f]{64}$/);
  });
});
