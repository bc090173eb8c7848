import { readFileSync } from "node:fs";

import { percentile } from "../follower/floor.ts";

/** How long something took, in milliseconds. */
export interface Delays {
  samples: number;
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
  maxMs: number;
}

/** Sums samples up. */
export function delaysOf(samples: readonly number[]): Delays {
  return {
    samples: samples.length,
    p50Ms: percentile(samples, 0.5),
    p95Ms: percentile(samples, 0.95),
    p99Ms: percentile(samples, 0.99),
    maxMs: percentile(samples, 1),
  };
}

const KB_PER_MB = 1_024;

/** Memory of a process in megabytes: now, and at most since its start. */
export function memoryOf(pid: number): { rssMb: number; peakMb: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const megabytes = (field: string) => Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) / KB_PER_MB;
  return { rssMb: megabytes("VmRSS"), peakMb: megabytes("VmHWM") };
}
