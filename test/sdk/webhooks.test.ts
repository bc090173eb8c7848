import { createHmac } from "node:crypto";

import { assert } from "chai";

import { signWebhook, verifyWebhookSignature } from "../../api/features/webhooks/secrets/signature.ts";
import { MarketplaceError, verifyWebhook, WebhookVerificationError } from "../../sdk/src/index.ts";
import type { WebhookFault } from "../../sdk/src/index.ts";
import { rejectionOf } from "../fixtures/rejection.ts";

const SECRET = "whsec_of-the-test";
const BODY = '{"event":"escrow.funded","transactionId":"txn_1","serviceTitle":"Grüße 🚀"}';
const NOW = 1_800_000_000;
const SIGNATURE = signWebhook(SECRET, BODY, NOW);

describe("a webhook that a receiver verifies with the client", () => {
  /** The body, or why it can't be trusted; the service's own rules come to the same verdict about the signature. */
  const verdict = async (
    webhook: { rawBody?: string | Uint8Array; signature?: string | null; secret?: string | string[] },
    nowSeconds = NOW,
  ) => {
    const { rawBody = BODY, signature = SIGNATURE, secret = SECRET } = webhook;
    const verified = verifyWebhook({ rawBody, signature, secret }, { now: nowSeconds * 1_000 });
    if (typeof secret === "string" && typeof rawBody === "string") {
      const holds = verifyWebhookSignature(secret, signature ?? undefined, rawBody, nowSeconds);
      const trusted = await verified.then(
        () => true,
        (error: unknown) => error instanceof WebhookVerificationError && error.fault === "malformed_body",
      );
      assert.strictEqual(trusted, holds, "client and service differ");
    }
    return verified;
  };
  const assertFault = async (fault: WebhookFault, webhook: Parameters<typeof verdict>[0], nowSeconds = NOW) => {
    assert.strictEqual((await rejectionOf(verdict(webhook, nowSeconds), WebhookVerificationError)).fault, fault);
  };

  it("gives its body, from text as from bytes", async () => {
    const expected = JSON.parse(BODY) as object;
    assert.deepEqual(await verdict({}), expected);
    assert.deepEqual(await verdict({ rawBody: new TextEncoder().encode(BODY) }), expected);
  });

  it("is taken up to 300 seconds before and after its time, and not a second longer", async () => {
    await verdict({}, NOW + 300);
    await verdict({}, NOW - 300);
    await assertFault("stale", {}, NOW + 301);
    await assertFault("stale", {}, NOW - 301);
  });

  it("is refused when a part of the signature is missing or malformed", async () => {
    await assertFault("missing_signature", { signature: null });
    await assertFault("missing_signature", { signature: "" });
    const digest = createHmac("sha256", SECRET).update(`${NOW}.${BODY}`).digest("hex");
    for (const signature of [
      `t=${NOW}`,
      `v1=${digest}`,
      `t=${NOW},v1=`,
      `t=${NOW},v1=${digest.slice(2)}`,
      `t=soon,v1=${digest}`,
    ]) {
      await assertFault("malformed_signature", { signature });
    }
  });

  it("is refused when body, time or secret are others", async () => {
    await assertFault("wrong_signature", { rawBody: BODY.replace("txn_1", "txn_2") });
    await assertFault("wrong_signature", { signature: SIGNATURE.replace(`t=${NOW}`, `t=${NOW + 1}`) });
    await assertFault("wrong_signature", { secret: "whsec_another" });
    await assertFault("wrong_signature", { secret: [] });
  });

  it("is taken under each of two secrets while they rotate", async () => {
    await verdict({ secret: ["whsec_next", SECRET] });
    await assertFault("wrong_signature", { secret: ["whsec_next", "whsec_after"] });
  });

  it("is refused when its body isn't JSON, though it is signed", async () => {
    await assertFault("malformed_body", { rawBody: "hello", signature: signWebhook(SECRET, "hello", NOW) });
  });

  it("fails with an error of the client's family", async () => {
    await rejectionOf(verdict({ secret: "whsec_another" }), MarketplaceError);
  });
});
