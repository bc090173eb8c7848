import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The secrets of a local stack: created once, kept in its directory, readable only by their owner. */
export interface StackSecrets {
  /** Master secret of the signatures on outbound webhooks, 64 hexadecimal characters. */
  readonly webhookSigningSecret: string;
}

/** Reads the secrets of a stack, or creates them at its first start. */
export function loadSecrets(dir: string): StackSecrets {
  const file = join(dir, "secrets.json");
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8")) as StackSecrets;
  const secrets: StackSecrets = { webhookSigningSecret: randomBytes(32).toString("hex") };
  writeFileSync(file, JSON.stringify(secrets), { mode: 0o600 });
  return secrets;
}
