import { recoverTypedDataAddress } from "viem";
import type { Address, Hex } from "viem";

import type { ValidationIssue } from "../../http/errors.ts";
import type { ApprovalRecord } from "../mandates/approval-model.ts";
import { DOMAIN } from "../mandates/signature.ts";
import { toUsdUnits } from "../mandates/usd.ts";

/** What a wallet signs to approve a checkout, without the id of the approval. `expiresAt` is unix seconds. */
export interface SignedApproval {
  host: string;
  keyId: string;
  network: string;
  requestHash: Hex;
  /** US dollars such as `12.50`. */
  maxUsd: string;
  expiresAt: number;
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

/** The wallet that signed an approval; undefined if no key can have made the signature. */
export async function signerOf(id: string, signed: SignedApproval, signature: Hex): Promise<Address | undefined> {
  const { host, keyId, network, requestHash } = signed;
  const message = {
    id,
    host,
    keyId,
    network,
    requestHash,
    maxUsd: toUsdUnits(signed.maxUsd),
    expiresAt: BigInt(signed.expiresAt),
  };
  try {
    return await recoverTypedDataAddress({ domain: DOMAIN, types: TYPES, primaryType: "Approval", message, signature });
  } catch {
    return undefined;
  }
}

/** What is wrong with a signed approval at this moment, for a service under one of these hosts. */
export function faultsOf(
  signed: SignedApproval,
  asked: Pick<ApprovalRecord, "keyId" | "network" | "requestHash" | "expiresAt">,
  { hosts, now }: { hosts: readonly string[]; now: Date },
): ValidationIssue[] {
  const latest = Math.floor(asked.expiresAt.getTime() / 1_000);
  const rules: [holds: boolean, field: keyof SignedApproval, fault: string][] = [
    [hosts.includes(signed.host), "host", `Must be ${hosts[0] ?? ""}`],
    [signed.keyId === asked.keyId, "keyId", `Must be ${asked.keyId}`],
    [signed.network === asked.network, "network", `Must be ${asked.network}`],
    [signed.requestHash === asked.requestHash, "requestHash", `Must be ${asked.requestHash}`],
    [signed.expiresAt * 1_000 > now.getTime(), "expiresAt", "Must be in the future"],
    [signed.expiresAt <= latest, "expiresAt", `Must be at most ${latest}, when the approval ends`],
  ];
  return rules
    .filter(([holds]) => !holds)
    .map(([, field, message]): ValidationIssue => ({ path: `body.${field}`, message }));
}
