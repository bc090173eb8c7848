import { chmod, mkdir, readdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { assert } from "chai";
import { decryptKeystoreJson, encryptKeystoreJson } from "ethers";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";

import {
  decryptKey,
  encryptKey,
  parsePrivateKey,
  readKeystore,
  writeKeystore,
} from "../../../cli/src/wallet/keystore.ts";
import { readPassword } from "../../../cli/src/wallet/password.ts";
import { makePrivateFolder } from "../../../cli/src/wallet/private-files.ts";
import { WalletError } from "../../../cli/src/wallet/wallet-error.ts";
import type { WalletFault } from "../../../cli/src/wallet/wallet-error.ts";
import { errorOf, rejectionOf } from "../../fixtures/rejection.ts";
import { newPlace, PASSWORD, SCRYPT_COST } from "../../fixtures/wallets.ts";

describe("a keystore", () => {
  const key = generatePrivateKey();
  let dir: string;
  let remove: () => Promise<void>;
  beforeEach(async () => {
    const made = await newPlace();
    dir = made.place.dir;
    remove = made.remove;
  });
  afterEach(() => remove());

  const fault = async (code: WalletFault, work: Promise<unknown>) => {
    const error = await rejectionOf(work, WalletError);
    assert.strictEqual(error.code, code);
    assert.notInclude(error.message + error.whatToDo + String(error.stack), key.slice(2));
    return error;
  };

  it("keeps a key in a file that only its owner can read, written at once", async () => {
    const file = join(dir, "keystore.json");
    await writeKeystore(file, await encryptKey(key, PASSWORD, SCRYPT_COST));
    assert.strictEqual((await stat(file)).mode & 0o777, 0o600);
    assert.strictEqual((await stat(dir)).mode & 0o777, 0o700);
    assert.deepEqual(await readdir(dir), ["keystore.json"]);
    assert.strictEqual(await decryptKey(await readKeystore(file), PASSWORD), key);
    await fault("wallet_exists", writeKeystore(file, await encryptKey(generatePrivateKey(), PASSWORD, SCRYPT_COST)));
    assert.strictEqual(await decryptKey(await readKeystore(file), PASSWORD), key);
  });

  it("refuses another password, also for a key that was altered", async () => {
    const keystore = await encryptKey(key, PASSWORD, SCRYPT_COST);
    await fault("wrong_password", decryptKey(keystore, `${PASSWORD} `));
    const { crypto } = keystore;
    const ciphertext = `${crypto.ciphertext.startsWith("0") ? "1" : "0"}${crypto.ciphertext.slice(1)}`;
    await fault("wrong_password", decryptKey({ ...keystore, crypto: { ...crypto, ciphertext } }, PASSWORD));
  });

  it("is read by other wallets, and reads theirs", async () => {
    const password = "pässwörd";
    const ours = JSON.stringify(await encryptKey(key, password, SCRYPT_COST));
    assert.strictEqual((await decryptKeystoreJson(ours, password)).privateKey, key);
    const account = { address: privateKeyToAddress(key), privateKey: key };
    const theirs = await encryptKeystoreJson(account, password, { scrypt: { N: SCRYPT_COST } });
    const file = join(dir, "theirs.json");
    await writePrivate(file, theirs.replaceAll('"Crypto"', '"crypto"'));
    assert.strictEqual(await decryptKey(await readKeystore(file), password), key);
  });

  async function writePrivate(file: string, text: string, mode = 0o600): Promise<void> {
    await makePrivateFolder(dir);
    await writeFile(file, text, { mode });
    await chmod(file, mode);
  }

  it("isn't read where others could have read or written it", async () => {
    const text = JSON.stringify(await encryptKey(key, PASSWORD, SCRYPT_COST));
    const file = join(dir, "keystore.json");
    for (const mode of [0o640, 0o604, 0o620, 0o602]) {
      await writePrivate(file, text, mode);
      const { message } = await fault("open_to_others", readKeystore(file));
      assert.include(message, mode.toString(8));
    }
    await chmod(file, 0o600);
    const link = join(dir, "link.json");
    await symlink(file, link);
    await fault("open_to_others", readKeystore(link));
    await mkdir(join(dir, "folder.json"));
    await fault("open_to_others", readKeystore(join(dir, "folder.json")));
    await fault("wallet_missing", readKeystore(join(dir, "none.json")));
  });

  it("isn't read if it asks for too much work, or is of another form", async () => {
    const keystore = await encryptKey(key, PASSWORD, SCRYPT_COST);
    const { crypto } = keystore;
    const costly = { ...keystore, crypto: { ...crypto, kdfparams: { ...crypto.kdfparams, n: 2 ** 30 } } };
    const file = join(dir, "keystore.json");
    for (const text of [JSON.stringify(costly), JSON.stringify({ ...keystore, version: 1 }), "{}", "not JSON", ""]) {
      await writePrivate(file, text);
      await fault("file_broken", readKeystore(file));
    }
  });

  it("takes a key with white space and without 0x, and shows none that isn't one", () => {
    assert.strictEqual(parsePrivateKey(`  ${key.slice(2).toUpperCase()}\n`), key);
    for (const text of ["", `${key}0`, `0x${"0".repeat(64)}`, `0x${"f".repeat(64)}`, "secret words"]) {
      const error = errorOf(() => parsePrivateKey(text), WalletError);
      assert.strictEqual(error.code, "invalid_key");
      if (text !== "") assert.notInclude(error.message, text);
    }
  });

  describe("'s password", () => {
    it("is the one line of a private file", async () => {
      const file = join(dir, "password");
      await writePrivate(file, `${PASSWORD}\n`);
      assert.strictEqual(await readPassword({ file }), PASSWORD);
      await chmod(file, 0o644);
      await fault("open_to_others", readPassword({ file }));
      for (const text of ["", "\n", "two\nlines\n", "x".repeat(1_025)]) {
        await writePrivate(file, text);
        await fault("password_missing", readPassword({ file }));
      }
      await fault("password_missing", readPassword({ file: join(dir, "none") }));
    });
  });
});
