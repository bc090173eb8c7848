import type { Command } from "commander";

import { writeProfile } from "../config/profile.ts";
import { usageFailure } from "../failure.ts";
import { wholeNumber } from "../options.ts";
import { text } from "../output/blocks.ts";
import type { Runtime } from "../runtime.ts";
import type { Session } from "../session.ts";
import { addCommand, does } from "./define.ts";
import { takesPassword, unlockWallet } from "./signing.ts";
import type { SigningOptions } from "./signing.ts";

const DAY_SECONDS = 86_400;

/** Adds `keys`, which makes and ends API keys. */
export function addKeys(program: Command, runtime: Runtime): void {
  const keys = program.command("keys").description("make and end the API key of the profile");
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

  const revoke = addCommand(keys, "revoke", "end the API key of the profile at once");
  does(revoke, runtime, async (session) => {
    const ended = await session.agent().revokeKey();
    session.output.result(ended, () => [
      text(`The key ended at ${ended.revokedAt}. Make another: agent-marketplace keys new`),
    ]);
    return undefined;
  });
}

function requireProfile({ profile, files }: Session) {
  if (profile !== undefined) return profile;
  throw usageFailure(`There is no profile ${files.name}.`, "Run `agent-marketplace init`.");
}
