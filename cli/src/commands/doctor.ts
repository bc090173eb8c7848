import { lstat } from "node:fs/promises";

import type { Command } from "commander";

import { ApiError } from "../../../sdk/src/index.ts";
import type { NetworkStatus } from "../../../sdk/src/index.ts";
import { openReader, rpcUrlOf } from "../chains.ts";
import { profileFiles, readProfile } from "../config/profile.ts";
import { EXIT } from "../exit-codes.ts";
import { CommandFailure } from "../failure.ts";
import { text } from "../output/blocks.ts";
import type { Runtime } from "../runtime.ts";
import { Session } from "../session.ts";
import type { CommonOptions } from "../session.ts";
import { WalletError } from "../wallet/wallet-error.ts";
import { addCommand } from "./define.ts";

/** What was found about one part of the set-up. */
interface Finding {
  check: string;
  status: "ok" | "warning" | "problem";
  detail: string;
  /** The command or step that mends it; null if there is nothing to mend. */
  remedy: string | null;
}

/** More than this between both clocks, and signatures are refused. */
const MOST_SKEW_SECONDS = 60;
/** Behind more blocks than these, a search or a deal may be stale. */
const MOST_BLOCKS_BEHIND = 20;
const MARKS = { ok: "ok      ", warning: "warning ", problem: "problem " } as const;

const ok = (check: string, detail: string): Finding => ({ check, status: "ok", detail, remedy: null });
const warning = (check: string, detail: string, remedy: string): Finding => ({
  check,
  status: "warning",
  detail,
  remedy,
});
const problem = (check: string, detail: string, remedy: string): Finding => ({
  check,
  status: "problem",
  detail,
  remedy,
});

/** Adds `doctor`, which changes nothing. */
export function addDoctor(program: Command, runtime: Runtime): void {
  const doctor = addCommand(program, "doctor", "say what is wrong with your set-up, and what to do about each");
  doctor.action(async (options: CommonOptions) => {
    const output = runtime.output(options);
    const findings = await output.progress("Looking at the set-up", examine(runtime, options));
    const hasProblem = findings.some(({ status }) => status === "problem");
    output.result({ healthy: !hasProblem, findings }, () =>
      findings.flatMap(({ check, status, detail, remedy }) => [
        text(`${MARKS[status]}${check}: ${detail}`),
        ...(remedy === null ? [] : [text(`        → ${remedy}`)]),
      ]),
    );
    runtime.exitCode = hasProblem ? EXIT.failed : EXIT.done;
  });
}

async function examine(runtime: Runtime, options: CommonOptions): Promise<Finding[]> {
  const files = profileFiles(runtime.environment, options.profile);
  const found = await profileFinding(files.profile, files.name);
  if (found.status === "problem") return [found];
  let session: Session;
  try {
    session = await Session.open(runtime, options);
  } catch (error) {
    return [found, problem("environment", messageOf(error), remedyOf(error))];
  }
  const service = await serviceFindings(session);
  if (service.networks === undefined) return [found, ...service.findings];
  const [key, chains] = await Promise.all([
    keyFinding(session),
    Promise.all(
      service.networks
        .filter(({ network }) => session.networks.includes(network))
        .map((network) => chainFinding(session, network)),
    ),
  ]);
  return [found, ...service.findings, key, ...chains];
}

async function profileFinding(file: string, name: string): Promise<Finding> {
  try {
    const profile = await readProfile(file);
    if (profile === undefined) {
      return warning("profile", `${name} isn't set up (${file})`, "Run `agent-marketplace init`.");
    }
    const mode = ((await lstat(file)).mode & 0o777).toString(8);
    return ok("profile", `${name} is agent ${profile.agentId} at ${profile.url} (${file}, mode ${mode})`);
  } catch (error) {
    return problem("profile", messageOf(error), remedyOf(error));
  }
}

/** Whether the service answers, and whether its clock and this one agree. */
async function serviceFindings(session: Session): Promise<{ findings: Finding[]; networks?: NetworkStatus[] }> {
  const { url, market } = session;
  try {
    const networks = await market.networks();
    return { findings: [ok("service", `${url} answers`), await clockFinding(url)], networks };
  } catch {
    const remedy = "Check the address and that the service runs; on your machine, start it with `npm start`.";
    return { findings: [problem("service", `${url} gives no answer`, remedy)] };
  }
}

async function clockFinding(url: string): Promise<Finding> {
  const answer = await fetch(new URL("/api/v1/networks", url), { method: "HEAD" });
  const serverTime = Date.parse(answer.headers.get("date") ?? "");
  const skew = Math.round(Math.abs(Date.now() - serverTime) / 1_000);
  if (Number.isNaN(skew) || skew <= MOST_SKEW_SECONDS) return ok("clock", "agrees with the service's");
  return problem("clock", `differs by ${skew} s from the service's`, "Set the clock of this machine.");
}

async function keyFinding(session: Session): Promise<Finding> {
  if (session.apiKey === undefined) {
    return problem("API key", "there is none", "Run `agent-marketplace init`, or set AGENT_MARKETPLACE_API_KEY.");
  }
  try {
    const { agentId, budgets } = await session.agent().account.usage();
    const used = Object.entries(budgets).filter(([, { remaining }]) => remaining === 0);
    if (used.length === 0) return ok("API key", `is valid, for agent ${agentId}`);
    const names = used.map(([name]) => name).join(", ");
    return warning("API key", `is valid, and today's calls are used up: ${names}`, "Wait until midnight UTC.");
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) {
      const remedy = "Run `agent-marketplace keys new` for another key of the same agent.";
      return problem("API key", "is unknown, revoked or expired", remedy);
    }
    return problem("API key", "can't be checked", "Run `agent-marketplace doctor` again.");
  }
}

async function chainFinding(session: Session, status: NetworkStatus): Promise<Finding> {
  const { network, chainId, blocksBehind } = status;
  const rpcUrl = rpcUrlOf(network, session.url, session.profile);
  const remedy = `Name another RPC server: \`agent-marketplace init --rpc ${network}=URL\`.`;
  try {
    const found = await openReader(network, rpcUrl).getChainId();
    if (found !== chainId) return problem(network, `${rpcUrl} is chain ${found}, not ${chainId}`, remedy);
  } catch {
    return warning(network, `${rpcUrl} gives no answer, so nothing can be signed there`, remedy);
  }
  if (blocksBehind === null || blocksBehind > MOST_BLOCKS_BEHIND) {
    const behind = blocksBehind === null ? "doesn't answer" : `is ${blocksBehind} blocks behind`;
    return warning(network, `the service's index ${behind}`, "Wait, or tell the operator of the marketplace.");
  }
  return ok(network, `${rpcUrl} is chain ${chainId}, and the service's index is fresh`);
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function remedyOf(error: unknown): string {
  if (error instanceof WalletError) return error.whatToDo;
  return error instanceof CommandFailure ? error.parts.whatToDo : "Run `agent-marketplace init` again.";
}
