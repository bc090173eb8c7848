import { readFileSync } from "node:fs";

const buyer = `0x${"b".repeat(40)}`;

const seller = `0x${"a".repeat(40)}`;
const time = "2026-01-31T12:00:00.000Z";

/** An EIP-4361 text that the seller signs. */
const signIn = (statement: string) =>
  `market.example wants you to sign in with your Ethereum account:\n${seller}\n\n${statement}\n\n` +
  `URI: https://market.example\nVersion: 1\nChain ID: 84532\nNonce: 5f2b7c9e1d4a\nIssued At: ${time}`;

/** Values of the requests' examples that stand for others: records, wallets, signatures and times of a real deal. */
export const EXAMPLE = {
  buyer,
  seller,
  token: `0x${"d".repeat(40)}`,
  buyerAgent: `agt_${"b".repeat(32)}`,
  sellerAgent: `agt_${"a".repeat(32)}`,
  service: `lst_${"a".repeat(32)}`,
  dispute: `dsp_${"b".repeat(32)}`,
  transaction: `txn_${"b".repeat(32)}`,
  /** Its first 20 bytes are the buyer's address. */
  escrowId: buyer + "e".repeat(24),
  hash: `0x${"f".repeat(64)}`,
  registration: signIn("I register this wallet as an agent."),
  keyRequest: signIn("Issue an API key for this agent."),
  pageSession: signIn("Open a read-only page session for this agent."),
  stackWallet: signIn("List this wallet, whose key was made for this local stack."),
  signature: `0x${"e".repeat(130)}`,
  time,
  /** The same time in unix seconds. */
  deadline: 1_769_860_800,
} as const;

/**
 * Examples of what answers hold, by the names of their schemas: recorded from the answers of test/api/docs/examples.test.ts,
 * which compares their shapes, and re-records them if `RECORD_EXAMPLES=1` is set.
 */
export const ANSWER_EXAMPLES = JSON.parse(
  readFileSync(new URL("./answer-examples.json", import.meta.url), "utf8"),
) as Readonly<Record<string, unknown>>;
