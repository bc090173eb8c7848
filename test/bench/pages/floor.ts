// The floor of `npm run bench:pages`: a bare node:http that sends the bytes of a file. Prints its port.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const [file = "", headers = "{}"] = process.argv.slice(2);
const body = readFileSync(file);
const fields = JSON.parse(headers) as Record<string, string>;
const server = createServer((_, response) => {
  response.writeHead(200, fields);
  response.end(body);
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(typeof address === "object" && address !== null ? address.port : "");
});
