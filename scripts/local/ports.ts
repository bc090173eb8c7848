import { createServer } from "node:net";

/** A port on loopback that the stack is about to use. */
export interface PortUse {
  readonly service: string;
  readonly port: number;
}

/** Thrown when another program listens on a port that the stack needs. */
export class PortTakenError extends Error {
  readonly port: number;

  constructor(use: PortUse, howToChange: string) {
    super(`Port ${String(use.port)}, which ${use.service} needs, is taken by another program. ${howToChange}`);
    this.name = "PortTakenError";
    this.port = use.port;
  }
}

/** True when nothing listens on the port, on loopback or on all addresses. */
export async function isPortFree(port: number): Promise<boolean> {
  return (await canListen(port, "127.0.0.1")) && (await canListen(port, "0.0.0.0"));
}

/** Throws a PortTakenError for the first port of the list on which another program listens. */
export async function assertPortsFree(uses: readonly PortUse[], howToChange: string): Promise<void> {
  for (const use of uses) {
    if (!(await isPortFree(use.port))) throw new PortTakenError(use, howToChange);
  }
}

/**
 * The first of `count` ports in a row on which nothing listens. They lie below those that the system gives to outgoing
 * connections (from 32768 on), which might take one at any moment, and start at another place for each process so that
 * tests which run side by side do not meet.
 */
export async function findFreePorts(count: number): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const first = 22_000 + ((process.pid * 40 + attempt * 1_240) % 10_000);
    const ports = Array.from({ length: count }, (_, offset) => first + offset);
    if ((await Promise.all(ports.map(isPortFree))).every(Boolean)) return first;
  }
  throw new Error(`found no ${count} free ports in a row`);
}

async function canListen(port: number, host: string): Promise<boolean> {
  return await new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE" || error.code === "EACCES") resolve(false);
      else reject(error);
    });
    server.listen({ port, host, exclusive: true }, () =>
      server.close(() => {
        resolve(true);
      }),
    );
  });
}
