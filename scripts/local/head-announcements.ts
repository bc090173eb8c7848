import { WebSocket } from "undici";

/** Counts the heads that a local chain announces by WebSocket. Subscribes again when the chain has restarted. */
export class HeadAnnouncements {
  readonly #url: string;
  #socket: WebSocket | undefined;
  #isAnnounced = false;
  #count = 0;
  readonly #waiting = new Set<() => void>();

  constructor(rpcPort: number) {
    this.#url = `ws://127.0.0.1:${String(rpcPort)}`;
  }

  /** How many it has announced. */
  get count(): number {
    return this.#count;
  }

  /** Resolves once it has announced more than `count`, after `longestMs`, or at once without a subscription. */
  async after(count: number, longestMs: number): Promise<void> {
    this.#open();
    if (!this.#isAnnounced || this.#count > count) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(end);
        resolve();
      };
      const timer = setTimeout(end, longestMs);
      this.#waiting.add(end);
    });
  }

  close(): void {
    const socket = this.#socket;
    this.#lose(socket);
    socket?.close();
  }

  #open(): void {
    if (this.#socket !== undefined) return;
    const socket = new WebSocket(this.#url);
    this.#socket = socket;
    const request = { jsonrpc: "2.0", id: 1, method: "eth_subscribe", params: ["newHeads"] };
    socket.addEventListener("open", () => {
      socket.send(JSON.stringify(request));
    });
    // The first message confirms the subscription.
    socket.addEventListener("message", () => {
      this.#isAnnounced = true;
      this.#count += 1;
      this.#wake();
    });
    for (const end of ["close", "error"] as const) {
      socket.addEventListener(end, () => {
        this.#lose(socket);
      });
    }
  }

  #lose(socket: WebSocket | undefined): void {
    if (this.#socket !== socket) return;
    this.#socket = undefined;
    this.#isAnnounced = false;
    this.#wake();
  }

  #wake(): void {
    for (const end of this.#waiting) end();
  }
}
