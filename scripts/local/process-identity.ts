import { readFileSync } from "node:fs";

/**
 * What tells a process from any later one that got the same id: its start time in clock ticks since boot, and the
 * boot. Read from /proc, so Linux only, like the embedded services themselves.
 */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTicks: string;
  readonly bootId: string;
}

/** How a process is asked to end, and how long it may take before it is killed. */
export interface StopRule {
  readonly signal: "SIGINT" | "SIGTERM";
  readonly timeoutMs: number;
}

/** The identity of a process, or undefined when none has this id. */
export function identify(pid: number): ProcessIdentity | undefined {
  return look(pid)?.identity;
}

/** True while the very process that was recorded still runs. */
export function isRunning(recorded: ProcessIdentity): boolean {
  const found = look(recorded.pid);
  if (found === undefined || found.ended) return false;
  const { startTicks, bootId } = found.identity;
  return startTicks === recorded.startTicks && bootId === recorded.bootId;
}

/** True while any process with this id runs. */
export function isPidRunning(pid: number): boolean {
  return look(pid)?.ended === false;
}

/** A process that has ended but that its parent has not asked for yet still has its id. */
function look(pid: number): { identity: ProcessIdentity; ended: boolean } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the command in parentheses and may itself hold blanks and parentheses.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state] = fields;
    const startTicks = fields[19];
    if (startTicks === undefined) return undefined;
    return { identity: { pid, startTicks, bootId: readBootId() }, ended: state === "Z" || state === "X" };
  } catch {
    return undefined;
  }
}

/** Waits until the process has ended; false when it still runs after `timeoutMs`. */
export async function waitForEnd(recorded: ProcessIdentity, timeoutMs: number): Promise<boolean> {
  const giveUpAt = Date.now() + timeoutMs;
  while (isRunning(recorded)) {
    if (Date.now() > giveUpAt) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return true;
}

/**
 * Asks a recorded process to end by its rule, kills it when it does not, and kills what it has left: every service and
 * job leads a process group of its own, and some (a compiler) have helpers that outlive them.
 */
export async function endProcess(recorded: ProcessIdentity, rule: StopRule): Promise<"ended" | "killed"> {
  let how: "ended" | "killed" = "ended";
  if (isRunning(recorded)) {
    signalProcess(recorded.pid, rule.signal);
    if (!(await waitForEnd(recorded, rule.timeoutMs))) {
      signalProcess(recorded.pid, "SIGKILL");
      await waitForEnd(recorded, 5_000);
      how = "killed";
    }
  }
  if (isGroupOf(recorded)) signalProcess(-recorded.pid, "SIGKILL");
  return how;
}

/**
 * True when a process group with this id can only be the one that the recorded process led: no id is given out again
 * while a group has it.
 */
function isGroupOf(recorded: ProcessIdentity): boolean {
  const holder = look(recorded.pid);
  if (holder !== undefined) return holder.identity.startTicks === recorded.startTicks;
  return readBootId() === recorded.bootId;
}

function readBootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // Ended between the check and the signal, or the id is another user's by now: nothing is left to do.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}
