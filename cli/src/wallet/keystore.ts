import { createCipheriv, createDecipheriv, randomBytes, randomUUID, scrypt, timingSafeEqual } from "node:crypto";

import { bytesToHex, concatBytes, hexToBytes, keccak256 } from "viem";
import type { Address, Hex } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import { z } from "zod";

import { createPrivateFile, readPrivateFile } from "./private-files.ts";
import { WalletError } from "./wallet-error.ts";

// Web3 Secret Storage, version 3: the format that geth, MetaMask, ethers and foundry read. The primitives are those of Node.

const CIPHER = "aes-128-ctr";
const KEY_BYTES = 32;
const HALF = 16;
/** The standard cost: 128 MB and about half a second. */
const COST = { n: 131_072, r: 8, p: 1 };
/** A file that asks for more would keep the machine busy for minutes. */
const MAX_COST = 1_048_576;
/** Scrypt takes 128 × n × r bytes, and some more. */
const bytesFor = ({ n, r, p }: typeof COST): number => 128 * n * r + 128 * r * p + 1_048_576;

const hexText = (bytes?: number) =>
  z.string().regex(bytes === undefined ? /^([0-9a-f]{2})+$/i : new RegExp(`^[0-9a-f]{${String(bytes * 2)}}$`, "i"));

const keystoreSchema = z.looseObject({
  version: z.literal(3),
  address: z.string().optional(),
  crypto: z.looseObject({
    cipher: z.literal(CIPHER),
    ciphertext: hexText(KEY_BYTES),
    cipherparams: z.looseObject({ iv: hexText(HALF) }),
    kdf: z.literal("scrypt"),
    kdfparams: z.looseObject({
      dklen: z.literal(KEY_BYTES),
      n: z.int().min(2).max(MAX_COST),
      r: z.int().min(1).max(64),
      p: z.int().min(1).max(16),
      salt: hexText(),
    }),
    mac: hexText(KEY_BYTES),
  }),
});

/** An encrypted private key as it stands in a file. */
export type Keystore = z.output<typeof keystoreSchema>;

/** Encrypts a private key with a password. @param n cost of scrypt, a power of two; lower only in tests */
export async function encryptKey(privateKey: Hex, password: string, n = COST.n): Promise<Keystore> {
  const salt = randomBytes(KEY_BYTES);
  const iv = randomBytes(HALF);
  const cost = { ...COST, n };
  const derived = await derive(password, salt, cost);
  const cipher = createCipheriv(CIPHER, derived.subarray(0, HALF), iv);
  const ciphertext = concatBytes([cipher.update(hexToBytes(privateKey)), cipher.final()]);
  return {
    version: 3,
    id: randomUUID(),
    address: plain(privateKeyToAddress(privateKey).toLowerCase() as Hex),
    crypto: {
      cipher: CIPHER,
      ciphertext: plain(bytesToHex(ciphertext)),
      cipherparams: { iv: iv.toString("hex") },
      kdf: "scrypt",
      kdfparams: { dklen: KEY_BYTES, ...cost, salt: salt.toString("hex") },
      mac: plain(macOf(derived, ciphertext)),
    },
  };
}

/** Decrypts a private key. @throws WalletError `wrong_password` */
export async function decryptKey({ crypto }: Keystore, password: string): Promise<Hex> {
  const { kdfparams, cipherparams } = crypto;
  const derived = await derive(password, Buffer.from(kdfparams.salt, "hex"), kdfparams);
  const ciphertext = Buffer.from(crypto.ciphertext, "hex");
  const mac = Buffer.from(plain(macOf(derived, ciphertext)), "hex");
  if (!timingSafeEqual(mac, Buffer.from(crypto.mac, "hex"))) {
    throw new WalletError(
      "wrong_password",
      "The password doesn't open the wallet.",
      "Try again with the wallet's own.",
    );
  }
  const decipher = createDecipheriv(CIPHER, derived.subarray(0, HALF), Buffer.from(cipherparams.iv, "hex"));
  return bytesToHex(concatBytes([decipher.update(ciphertext), decipher.final()]));
}

/** Reads a keystore's file. @throws WalletError `wallet_missing`, `open_to_others`, `file_broken` */
export async function readKeystore(file: string): Promise<Keystore> {
  const text = await readPrivateFile(file);
  if (text === undefined) {
    throw new WalletError("wallet_missing", `There is no wallet in ${file}.`, "Make one with: agent-marketplace init");
  }
  const parsed = keystoreSchema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  const message = `${file} isn't a keystore of version 3 with scrypt and ${CIPHER}.`;
  throw new WalletError("file_broken", message, "Restore the file from a backup.");
}

/** Writes a new keystore's file. @throws WalletError `wallet_exists` */
export async function writeKeystore(file: string, keystore: Keystore): Promise<void> {
  if (await createPrivateFile(file, `${JSON.stringify(keystore)}\n`)) return;
  const message = `There is a wallet in ${file} already, and it isn't replaced.`;
  throw new WalletError("wallet_exists", message, "Use that wallet, or move its directory away first.");
}

/** The wallet of a keystore, as far as the file says so itself. */
export function addressIn({ address = "" }: Keystore): Address | undefined {
  return /^(0x)?[0-9a-f]{40}$/i.test(address) ? `0x${address.replace(/^0x/i, "")}` : undefined;
}

/**
 * A private key that a person gave: 64 hexadecimal digits, with or without 0x, and white space around it.
 * @throws WalletError `invalid_key`, which doesn't show what was given
 */
export function parsePrivateKey(text: string): Hex {
  const digits = /^(?:0x)?([0-9a-f]{64})$/i.exec(text.trim())?.[1];
  try {
    if (digits !== undefined) {
      const key: Hex = `0x${digits.toLowerCase()}`;
      privateKeyToAddress(key);
      return key;
    }
  } catch {
    // Zero, or not below the order of the curve.
  }
  const message = "What was given isn't a private key of 64 hexadecimal digits.";
  throw new WalletError("invalid_key", message, "Give the key alone, on one line, on standard input or in a file.");
}

function derive(password: string, salt: Uint8Array, { n, r, p }: typeof COST): Promise<Buffer> {
  const options = { N: n, r, p, maxmem: bytesFor({ n, r, p }) };
  return new Promise((resolve, reject) => {
    // Wallets agree on NFKC, so that a password with accents opens the file wherever it was typed.
    scrypt(Buffer.from(password.normalize("NFKC")), salt, KEY_BYTES, options, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
}

const macOf = (derived: Buffer, ciphertext: Uint8Array): Hex =>
  keccak256(concatBytes([derived.subarray(HALF, KEY_BYTES), ciphertext]));

const plain = (hex: Hex): string => hex.slice(2);

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
