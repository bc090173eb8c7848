import type { Command } from "commander";

import type { Key } from "../../../sdk/src/index.ts";
import { writeProfile } from "../config/profile.ts";
import { usageFailure } from "../failure.ts";
import { wholeNumber } from "../options.ts";
import { facts, heading, text } from "../output/blocks.ts";
import type { Block } from "../output/blocks.ts";
import type { Runtime } from "../runtime.ts";
import type { Session } from "../session.ts";
import { addCommand, does } from "./define.ts";
import { addMandate } from "./mandates.ts";
import { takesPassword, unlockWallet } from "./signing.ts";
import type { SigningOptions } from "./signing.ts";

const DAY_SECONDS = 86_400;

/** Adds `keys`, which makes, lists and ends API keys. */
export function addKeys(program: Command, runtime: Runtime): void {
  const keys = program.command("keys").description("make, list and end API keys");

  const list = addCommand(keys, "list", "list the agent's keys, and what their mandates have left", {
    isDefault: true,
  });
  does(list, runtime, async (session) => {
    const found = await session.agent().keys.list();
    session.output.result({ keys: found }, () => found.flatMap(keyBlocks));
    return undefined;
  });

  const make = takesPassword(addCommand(keys, "new", "sign in for a new API key, which the profile then uses")).option(
    "--end-others-after <seconds>",
    `how long the agent's other keys stay valid, 0 to ${DAY_SECONDS}`,
    wholeNumber(0, DAY_SECONDS),
  );
  does<SigningOptions & { endOthersAfter?: number }>(make, runtime, async (session, options) => {
    const { files, output } = session;
    const profile = requireProfile(session);
    const wallet = await unlockWallet(session, options);
    const [pin] = wallet.pins.networks;
    if (pin === undefined)
      throw usageFailure("The wallet has pinned no network.", "Run `agent-marketplace init --repin`.");
    const request = {
      wallet: wallet.walletOn(pin.network),
      revokeOthersAfterSeconds: options.endOthersAfter ?? DAY_SECONDS,
    };
    const { agentId, apiKey, othersEndAt } = await output.progress("Signing in", wallet.market.issueKey(request));
    await writeProfile(files.profile, { ...profile, agentId, apiKey });
    output.result({ agentId, othersEndAt, profile: files.profile }, () => [
      text(`The profile ${files.name} has a new key. The others end at ${othersEndAt}.`),
    ]);
    return undefined;
  });

  addMandate(keys, runtime);

  const revoke = addCommand(keys, "revoke [keyId]", "end a key at once, by default the one of the profile");
  does(revoke, runtime, async (session, _options, keyId?: string) => {
    if (keyId === undefined) {
      const ended = await session.agent().revokeKey();
      session.output.result(ended, () => [
        text(`The key ended at ${ended.revokedAt}. Make another: agent-marketplace keys new`),
      ]);
    } else {
      const ended = await session.agent().keys.revoke(keyId);
      session.output.result({ keyId, ...ended }, () => [text(`The key ${keyId} ended at ${ended.revokedAt}.`)]);
    }
    return undefined;
  });

  const freeze = addCommand(keys, "freeze", "end all keys but the one of the profile at once, and every mandate");
  does(freeze, runtime, async (session) => {
    const frozen = await session.agent().keys.freeze();
    session.output.result(frozen, () => [
      text(`All other keys ended at ${frozen.revokedAt}, and every mandate with them.`),
    ]);
    return undefined;
  });
}

function keyBlocks({ keyId, createdAt, expiresAt, current, mandate }: Key): Block[] {
  const bounds = mandate === null ? {} : mandateFacts(mandate);
  return [
    heading(keyId),
    facts({ "in use here": current ? "yes" : undefined, created: createdAt, ends: expiresAt ?? "never", ...bounds }),
  ];
}

function mandateFacts({ scopes, left, dayEndsAt, closed }: NonNullable<Key["mandate"]>) {
  return {
    may: scopes.join(", "),
    "left for a deal": `$${left.perDealUsd}`,
    "left today": `$${left.todayUsd}, until ${dayEndsAt}`,
    "left in total": `$${left.totalUsd}`,
    "new purchases": closed ? "none: more was spent than the mandate allows" : undefined,
  };
}

function requireProfile({ profile, files }: Session) {
  if (profile !== undefined) return profile;
  throw usageFailure(`There is no profile ${files.name}.`, "Run `agent-marketplace init`.");
}
