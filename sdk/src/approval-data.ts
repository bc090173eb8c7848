import type { Hex } from "viem";

// What a wallet signs to grant an approval. Web pages load this file without the client.

/** A grant of an approval. */
interface ApprovalGrant {
  /** The approval's. */
  id: string;
  /** The service's host, with its port unless that is the default. */
  host: string;
  keyId: string;
  network: string;
  /** SHA-256 of the canonical JSON of the request. */
  requestHash: Hex;
  /** The most that the deposit may be worth, in millionths of a US dollar. */
  maxUsd: bigint;
  /** When the grant ends, in unix seconds. */
  expiresAt: bigint;
}

const TYPES = {
  Approval: [
    { name: "id", type: "string" },
    { name: "host", type: "string" },
    { name: "keyId", type: "string" },
    { name: "network", type: "string" },
    { name: "requestHash", type: "bytes32" },
    { name: "maxUsd", type: "uint256" },
    { name: "expiresAt", type: "uint256" },
  ],
} as const;

/** The typed data (EIP-712) of a grant. */
export function approvalData(message: ApprovalGrant) {
  return {
    domain: { name: "Agent Marketplace", version: "1" },
    types: TYPES,
    primaryType: "Approval",
    message,
  } as const;
}
