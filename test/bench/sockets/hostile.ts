// A process that keeps hostile connections open: `hostile.ts URL KIND COUNT`, until it is killed.
import { connect } from "node:net";
import type { Socket } from "node:net";

/** What the clients of each kind do with a connection. */
const KINDS: Readonly<Record<string, (socket: Socket) => void>> = {
  "sends ahead, reads nothing": (socket) => {
    socket.pause();
    socket.write(request("/api/v1/categories").repeat(20_000));
  },
  "sends ahead, reads all": (socket) => {
    socket.resume();
    socket.write(request("/api/v1/categories").repeat(20_000));
  },
  "reads slowly": (socket) => {
    socket.pause();
    socket.write(request("/openapi.json").repeat(20));
    every(socket, () => socket.read(1_024));
  },
  "sends slowly": (socket) => {
    socket.resume();
    socket.write(
      "POST /api/v1/discover HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 99999\r\n\r\n",
    );
    every(socket, () => socket.write(" "));
  },
  "says nothing": (socket) => socket.resume(),
  "closes its half": (socket) => {
    socket.resume();
    socket.end(request("/api/v1/categories"));
  },
};

const PAUSE_MS = 1_000;
/** Before a closed connection is opened again. */
const REOPEN_MS = 100;

function request(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: market.example\r\n\r\n`;
}

function every(socket: Socket, act: () => void): void {
  const timer = setInterval(act, PAUSE_MS);
  socket.once("close", () => {
    clearInterval(timer);
  });
}

const [url = "", kind = "", count = ""] = process.argv.slice(2);
const { hostname, port } = new URL(url);
const behave = KINDS[kind];
if (behave === undefined) throw new Error(`No kind ${kind}`);

function open(): void {
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true }, () => behave?.(socket));
  socket.on("error", () => undefined);
  socket.once("close", () => setTimeout(open, REOPEN_MS));
}

for (let n = 0; n < Number(count); n += 1) open();
