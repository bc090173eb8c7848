import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

import { takeLock } from "./lock.ts";
import { CACHE_DIR } from "./paths.ts";

/** A loopback port that the stack needs. */
export interface PortUse {
  readonly service: string;
  readonly port: number;
}

/** Thrown when another program listens on a port that the stack needs. */
export class PortTakenError extends Error {
  readonly port: number;

  constructor(use: PortUse, howToChange: string) {
    super(
      `Port ${String(use.port)}, which ${use.service} needs, is taken by another program. End that program, or choose ` +
        `other ports ${howToChange}.`,
    );
    this.name = "PortTakenError";
    this.port = use.port;
  }
}

/** Thrown when two services are configured with the same port. */
export class PortSharedError extends Error {
  constructor(first: PortUse, second: PortUse, howToChange: string) {
    super(
      `Port ${String(first.port)} is given to both ${first.service} and ${second.service}. Choose other ports ${howToChange}.`,
    );
    this.name = "PortSharedError";
  }
}

/** Thrown when this user isn't allowed to listen on a port. */
export class PortForbiddenError extends Error {
  constructor(use: PortUse, howToChange: string) {
    super(
      `Port ${String(use.port)}, which ${use.service} needs, can't be opened by an ordinary user (ports below ` +
        `${String(firstUnprivilegedPort())} are reserved for root). Choose higher ports ${howToChange}.`,
    );
    this.name = "PortForbiddenError";
  }
}

/** True when nothing listens on the port, on loopback or on all addresses. */
export async function isPortFree(port: number): Promise<boolean> {
  return (await whyClosed(port)) === undefined;
}

/**
 * Checks that this process may listen on each port and that nothing else does.
 * @param howToChange ends the sentence "choose other ports …"
 * @throws PortSharedError, PortTakenError, PortForbiddenError
 */
export async function assertPortsFree(uses: readonly PortUse[], howToChange: string): Promise<void> {
  for (const [index, use] of uses.entries()) {
    const other = uses.slice(0, index).find(({ port }) => port === use.port);
    if (other !== undefined) throw new PortSharedError(other, use, howToChange);
    const closed = await whyClosed(use.port);
    if (closed === "forbidden") throw new PortForbiddenError(use, howToChange);
    if (closed === "taken") throw new PortTakenError(use, howToChange);
  }
}

// Not get-port: it finds single ports, and a stack needs a run of them.
/**
 * The first of `count` (at most 40) consecutive free ports. They are below the system's ephemeral range (from 32768),
 * where an outgoing connection could take one at any moment. Each range goes to one caller and stays with its process
 * until that ends, because a stack leaves its ports free while it restarts.
 */
export async function findFreePorts(count: number): Promise<number> {
  for (let attempt = 0; attempt < 250; attempt += 1) {
    const first = 22_000 + ((process.pid * 40 + attempt * 1_240) % 10_000);
    if (takeLock(join(CACHE_DIR, "ports", `${String(first)}.lock`)) !== undefined) continue;
    const ports = Array.from({ length: count }, (_, offset) => first + offset);
    if ((await Promise.all(ports.map(isPortFree))).every(Boolean)) return first;
  }
  throw new Error(`found no ${String(count)} free ports in a row`);
}

/** Why this process can't listen on a port, on loopback or on all addresses; undefined when it can. */
async function whyClosed(port: number): Promise<"taken" | "forbidden" | undefined> {
  return (await tryToListen(port, "127.0.0.1")) ?? (await tryToListen(port, "0.0.0.0"));
}

async function tryToListen(port: number, host: string): Promise<"taken" | "forbidden" | undefined> {
  return await new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") resolve("taken");
      else if (error.code === "EACCES") resolve("forbidden");
      else reject(error);
    });
    server.listen({ port, host, exclusive: true }, () =>
      server.close(() => {
        resolve(undefined);
      }),
    );
  });
}

/** The lowest port that every user may open. */
function firstUnprivilegedPort(): number {
  const file = "/proc/sys/net/ipv4/ip_unprivileged_port_start";
  return existsSync(file) ? Number(readFileSync(file, "utf8")) : 1_024;
}
