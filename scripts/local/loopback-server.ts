import { createServer } from "node:http";
import type { RequestListener } from "node:http";

/**
 * Serves HTTP on a port of the loopback address.
 * @returns a function that stops it
 */
export async function serveOnLoopback(port: number, listener: RequestListener): Promise<() => Promise<void>> {
  const server = createServer(listener);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
}
