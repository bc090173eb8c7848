import { readdirSync, readFileSync, readlinkSync, realpathSync } from "node:fs";

/**
 * Distinguishes a process from a later one with the same id: its start time in clock ticks since boot, and the boot id.
 * Read from /proc, so Linux only, like the embedded services.
 */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTicks: string;
  readonly bootId: string;
}

/** How to stop a process, and how long to wait before killing it. */
export interface StopRule {
  readonly signal: "SIGINT" | "SIGTERM";
  readonly timeoutMs: number;
}

/** The identity of a process; undefined when no process has this id. */
export function identify(pid: number): ProcessIdentity | undefined {
  return look(pid)?.identity;
}

/** True while the recorded process itself runs. */
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

/** A zombie (ended, but not yet reaped by its parent) still has its id. */
function look(pid: number): { identity: ProcessIdentity; ended: boolean } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the command in parentheses, which may contain spaces and parentheses itself.
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
 * Stops a recorded process by its rule, kills it when it doesn't stop, and kills what it left behind: every service and
 * job leads its own process group, and some (a compiler) have helpers that outlive them.
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
 * True when a process group with this id must be the one that the recorded process led. The system doesn't reuse an id
 * while a group has it.
 */
function isGroupOf(recorded: ProcessIdentity): boolean {
  const holder = look(recorded.pid);
  if (holder !== undefined) return holder.identity.startTicks === recorded.startTicks;
  return readBootId() === recorded.bootId;
}

/** Kills every process that works in a folder. What belongs to other users is left alone. */
export function killProcessesIn(folder: string): void {
  const place = realpathSync(folder);
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (readlinkSync(`/proc/${pid}/cwd`) === place) signalProcess(Number(pid), "SIGKILL");
    } catch {
      // It has ended, or it is another user's.
    }
  }
}

function readBootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It ended between the check and the signal, or the id now belongs to another user. Nothing is left to do.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}
