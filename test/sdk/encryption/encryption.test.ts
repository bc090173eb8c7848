import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { assert } from "chai";
import type { Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

import { installPythonTools } from "../../../scripts/testing/python-tools.ts";
import { encryptWith } from "../../../sdk/src/encryption.ts";
import type { PlainMessage } from "../../../sdk/src/encryption.ts";
import { decrypt, DecryptionError, encryptFor, memoryReplayStore, RefusedError } from "../../../sdk/src/index.ts";
import type { DecryptionFault, EncryptedContent, SealedMessage } from "../../../sdk/src/index.ts";
import { outputOf } from "../../fixtures/output-of.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";

interface Vector {
  name: string;
  recipientPrivateKey: Hex;
  recipientPublicKey: Hex;
  ephemeralPrivateKey: Hex;
  iv: Hex;
  message: PlainMessage;
  encrypted: EncryptedContent;
}

const VECTORS = fileURLToPath(new URL("../../../sdk/test-vectors/encryption-v1.json", import.meta.url));
const { vectors } = JSON.parse(readFileSync(VECTORS, "utf8")) as { vectors: Vector[] };
const ROOM = fileURLToPath(new URL(".", import.meta.url));
const VENV = join(".local", "encryption", "venv");

const bytesOf = (hex: Hex): Uint8Array => Uint8Array.from(Buffer.from(hex.slice(2), "hex"));

describe("messages encrypted end to end", () => {
  const [privateKey, otherKey] = [generatePrivateKey(), generatePrivateKey()];
  const { publicKey } = privateKeyToAccount(privateKey);
  const plain: PlainMessage = {
    fromAgentId: "agt_alice",
    toAgentId: "agt_bob",
    contentType: "application/json",
    body: { price: "2.50", note: "für dich" },
    replyTo: "msg_1",
    transactionId: "txn_1",
  };
  const sealed = async (message = plain, id = "msg_2"): Promise<SealedMessage> => {
    const { body, ...bound } = message;
    return { ...bound, id, encrypted: await encryptFor(publicKey, { ...bound, body }) };
  };
  const assertFault = async (fault: DecryptionFault, decryption: Promise<unknown>, what = fault as string) => {
    assert.strictEqual((await rejectionOf(decryption, DecryptionError)).fault, fault, what);
  };

  describe("happy", () => {
    it("[S5.13] are decrypted with the private key of the recipient's wallet, texts as texts and JSON as JSON", async () => {
      assert.deepEqual(await decrypt(privateKey, await sealed()), plain.body);
      for (const body of ["", "a", "\ufeffé 🚀", "x".repeat(60_000)]) {
        const text = { ...plain, contentType: "text/plain", body };
        assert.strictEqual(await decrypt(privateKey, await sealed(text)), body);
      }
    });

    it("never repeat a key, an iv or a ciphertext", async () => {
      const contents = await Promise.all(Array.from({ length: 50 }, () => encryptFor(publicKey, plain)));
      for (const field of ["ephemeralPublicKey", "iv", "ciphertext", "tag"] as const) {
        assert.strictEqual(new Set(contents.map((content) => content[field])).size, 50, field);
      }
    });

    for (const vector of vectors) {
      it(`reproduce the published vector: ${vector.name}`, async () => {
        const { recipientPublicKey, recipientPrivateKey, message, encrypted } = vector;
        const secrets = { ephemeralSecretKey: bytesOf(vector.ephemeralPrivateKey), iv: bytesOf(vector.iv) };
        assert.deepEqual(await encryptWith(secrets, recipientPublicKey, message), encrypted);
        const { body, ...bound } = message;
        assert.deepEqual(await decrypt(recipientPrivateKey, { ...bound, id: "msg_1", encrypted }), body);
        assert.strictEqual(privateKeyToAccount(recipientPrivateKey).publicKey, recipientPublicKey);
      });
    }

    it("are read and written by a second implementation in Python (needs Python, venv and pip)", async function () {
      try {
        await installPythonTools(VENV, join(ROOM, "requirements.txt"), () => {
          console.log(`Installing cryptography into ${VENV} …`);
        });
      } catch (error) {
        console.log(`skipped: cryptography can't be installed: ${(error as Error).message}`);
        this.skip();
      }
      // With a message of now, so that Python reads what this run has encrypted.
      const ephemeralPrivateKey = generatePrivateKey();
      const iv: Hex = `0x${"0a".repeat(12)}`;
      const secrets = { ephemeralSecretKey: bytesOf(ephemeralPrivateKey), iv: bytesOf(iv) };
      const keys = { recipientPrivateKey: privateKey, recipientPublicKey: publicKey, ephemeralPrivateKey };
      const encrypted = await encryptWith(secrets, publicKey, plain);
      const all = [...vectors, { ...keys, name: "now", iv, message: plain, encrypted }];
      const python = join(VENV, "bin", "python");
      const output = await outputOf(python, [join(ROOM, "encryption.py")], JSON.stringify({ vectors: all }));
      assert.deepEqual(
        JSON.parse(output),
        all.map((vector) => ({ encrypted: vector.encrypted, body: vector.message.body })),
      );
    }).timeout(300_000);
  });

  describe("error", () => {
    it("[D50] aren't made of a number that JSON would change, and have a bigint as text", async () => {
      for (const body of [{ amountWei: 2 ** 60 }, [Infinity]]) {
        await rejectionOf(sealed({ ...plain, body }), RefusedError);
      }
      const exact = { ...plain, body: { amountWei: 12345678901234567891n } };
      assert.deepEqual(await decrypt(privateKey, await sealed(exact)), { amountWei: "12345678901234567891" });
    });

    it("need a private key: a wallet that only signs is refused, and so is a key off the curve", async () => {
      const message = await sealed();
      for (const wallet of [privateKeyToAccount(privateKey), "0x12", undefined, privateKey.slice(2)]) {
        await rejectionOf(decrypt(wallet as never, message), RefusedError);
      }
      for (const key of ["0x04", `0x04${"11".repeat(64)}`, `0x02${publicKey.slice(4, 68)}`] as Hex[]) {
        await rejectionOf(encryptFor(key, plain), RefusedError);
      }
      await rejectionOf(encryptFor(publicKey, { ...plain, contentType: "text/plain" }), RefusedError);
    });

    it("of another version, or malformed, are named so", async () => {
      const message = await sealed();
      const changed = (fields: object) =>
        decrypt(privateKey, { ...message, encrypted: { ...message.encrypted, ...fields } });
      await assertFault("unsupported", changed({ v: 2 }));
      await assertFault("unsupported", changed({ alg: "none" }));
      for (const fields of [
        { iv: "AAAA" },
        { tag: "" },
        { ciphertext: "*" },
        { ephemeralPublicKey: "0x04" },
        { ephemeralPublicKey: `0x04${"11".repeat(64)}` },
      ]) {
        await assertFault("malformed", changed(fields), JSON.stringify(fields));
      }
    });
  });

  describe("security", () => {
    it("a change of any field is detected", async () => {
      const message = await sealed();
      const other = await encryptFor(publicKey, plain);
      const bound = ["fromAgentId", "toAgentId", "contentType", "replyTo", "transactionId"] as const;
      for (const field of bound) {
        await assertFault("not_authentic", decrypt(privateKey, { ...message, [field]: "agt_mallory" }), field);
      }
      for (const field of ["replyTo", "transactionId"] as const) {
        await assertFault("not_authentic", decrypt(privateKey, { ...message, [field]: null }), field);
      }
      for (const field of ["ephemeralPublicKey", "iv", "ciphertext", "tag"] as const) {
        const encrypted = { ...message.encrypted, [field]: other[field] };
        await assertFault("not_authentic", decrypt(privateKey, { ...message, encrypted }), field);
      }
    });

    it("every flipped bit of the ciphertext and the tag is detected", async () => {
      const message = await sealed();
      for (const field of ["ciphertext", "tag"] as const) {
        const bytes = Buffer.from(message.encrypted[field], "base64");
        for (let bit = 0; bit < bytes.length * 8; bit += 5) {
          const flipped = Buffer.from(bytes);
          flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
          const encrypted = { ...message.encrypted, [field]: flipped.toString("base64") };
          await assertFault("not_authentic", decrypt(privateKey, { ...message, encrypted }), `${field} ${bit}`);
        }
      }
    });

    it("another recipient can't read it, and what is reflected to its sender is detected", async () => {
      const message = await sealed();
      await assertFault("not_authentic", decrypt(otherKey, message));
      // The same content with the two agents exchanged, as an attacker would send it back.
      const reflected = { ...message, fromAgentId: "agt_bob", toAgentId: "agt_alice" };
      await assertFault("not_authentic", decrypt(otherKey, reflected));
      await assertFault("not_authentic", decrypt(privateKey, reflected));
    });

    it("a ciphertext that comes with a second message is a replay; reading the first one again isn't", async () => {
      const seen = memoryReplayStore();
      const message = await sealed();
      assert.deepEqual(await decrypt(privateKey, message, { seen }), plain.body);
      assert.deepEqual(await decrypt(privateKey, message, { seen }), plain.body);
      await assertFault("replayed", decrypt(privateKey, { ...message, id: "msg_3" }, { seen }));
    });

    it("a forgery doesn't make the real message look repeated", async () => {
      const seen = memoryReplayStore();
      const message = await sealed();
      const forged = { ...message, id: "msg_0", fromAgentId: "agt_mallory" };
      await assertFault("not_authentic", decrypt(privateKey, forged, { seen }));
      assert.deepEqual(await decrypt(privateKey, message, { seen }), plain.body);
    });
  });
});
