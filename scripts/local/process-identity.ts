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

/** The identity of a running process, or undefined when none has this id (a zombie counts as ended). */
export function identify(pid: number): ProcessIdentity | undefined {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, "utf8");
    // The second field is the command in parentheses and may itself hold blanks and parentheses.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state] = fields;
    const startTicks = fields[19];
    if (startTicks === undefined || state === "Z" || state === "X") return undefined;
    return { pid, startTicks, bootId: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim() };
  } catch {
    return undefined;
  }
}

/** True while the very process that was recorded still runs. */
export function isRunning(recorded: ProcessIdentity): boolean {
  const current = identify(recorded.pid);
  return current?.startTicks === recorded.startTicks && current.bootId === recorded.bootId;
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

/** Asks a recorded process to end by its rule and kills its process group when it does not. */
export async function endProcess(recorded: ProcessIdentity, rule: StopRule): Promise<"ended" | "killed"> {
  if (!isRunning(recorded)) return "ended";
  signalProcess(recorded.pid, rule.signal);
  if (await waitForEnd(recorded, rule.timeoutMs)) return "ended";
  // Every service leads a process group of its own, so this ends its helpers too.
  signalProcess(-recorded.pid, "SIGKILL");
  await waitForEnd(recorded, 5_000);
  return "killed";
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // Ended between the check and the signal: nothing is left to do.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
