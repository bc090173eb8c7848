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
