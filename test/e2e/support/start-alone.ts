/**
 * Starts MongoDB, and API and worker of a production folder, in whatever network this process is in: production.test.ts runs it where
 * there is nothing but loopback. An agent lists a service, and a query in another language finds it. Prints one JSON object.
 * Arguments: the folder, mongod, and a folder for data.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { openSync, readFileSync, writeFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";

import { CHAIN_IDS } from "../../../api/config/constants.ts";
import type { Network } from "../../../api/config/constants.ts";
import { mongoService, mongoUri } from "../../../scripts/local/mongo.ts";
import { testVariables } from "../../fixtures/environment.ts";
import { registrationBody } from "../../fixtures/sign-in.ts";
import { until } from "../../fixtures/until.ts";

const [folder = "", mongod = "", dir = ""] = process.argv.slice(2);
/** Nothing listens there, so neither process finds a chain. */
const NOWHERE = { rpcUrl: "http://127.0.0.1:9", subgraphUrl: "http://127.0.0.1:9" };
/** Nothing else is in this network. */
const [MONGO_PORT, API_PORT] = [27_017, 3_000];
const QUERY = "Ich suche eine Risikoanalyse für einen Token";

const children: ChildProcess[] = [];
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});
process.on("SIGTERM", () => process.exit(1));

const logOf = (name: string) => join(dir, `${name}.log`);
const readLog = (name: string) => readFileSync(logOf(name), "utf8");

function start(name: string, command: string, args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  const log = openSync(logOf(name), "w");
  const child = spawn(command, args, { cwd: folder, env, stdio: ["ignore", log, log] });
  children.push(child);
  child.once("exit", (code) => {
    if (process.exitCode !== undefined) return;
    console.error(`${name} ended with ${String(code)}:\n${readLog(name)}`);
    process.exit(1);
  });
  return child;
}

async function send(url: string, { key, body }: { key?: string; body: object }): Promise<any> {
  const headers = { "content-type": "application/json", ...(key === undefined ? {} : { "x-api-key": key }) };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return await answer.json();
}

const mongo = mongoService(mongod, dir, MONGO_PORT, true);
start("mongo", mongo.command, mongo.args, {});
await until("MongoDB is a primary", () => mongo.isReady().catch(() => false));

/** Contracts and a token at addresses of nobody: no chain can be asked about them. */
function writeDeployment(network: Network): string {
  const address = `0x${"11".repeat(20)}`;
  const contract = { proxy: address };
  const token = { symbol: "USDC", address, decimals: 6, feed: address, maxPriceAge: 0, minAmount: "1" };
  const contracts = { escrow: contract, score: contract, resolver: contract };
  const path = join(dir, `${network}.json`);
  writeFileSync(
    path,
    JSON.stringify({ network, chainId: CHAIN_IDS[network], startBlock: 0, contracts, tokens: [token] }),
  );
  return path;
}

const url = `http://127.0.0.1:${API_PORT}`;
const env = {
  ...testVariables({
    mongodbUri: "",
    networks: { "base-sepolia": NOWHERE, base: NOWHERE },
    deployments: {
      "base-sepolia": writeDeployment("base-sepolia"),
      base: writeDeployment("base"),
    },
  }),
  MONGODB_URI: mongoUri(MONGO_PORT).replace("/?", "/market?"),
  SEARCH_INDEX_URL: join(dir, "search"),
  LOG_LEVEL: "info",
  HOST: "127.0.0.1",
  PORT: String(API_PORT),
  PUBLIC_URL: url,
};
for (const name of ["server", "worker"]) start(name, process.execPath, [`api/${name}.ts`], env);
await until("the API listens", () => Promise.resolve(readLog("server").includes("API listens")));
await until("the worker runs", () => Promise.resolve(readLog("worker").includes("worker runs")));

const sites = { domain: new URL(url).host, uri: url };
const { apiKey: key } = await send(`${url}/api/v1/auth/register`, {
  body: (await registrationBody({ message: sites })).body,
});
const listed = await send(`${url}/api/v1/services`, {
  key,
  body: {
    title: "Token risk report",
    description: "Reads the contracts and holders of a token and writes what could go wrong.",
    category: "risk_assessment",
    price: 2.5,
    priceUnit: "per_document",
  },
});
/** What the worker has written, and not only what the database has. */
await until("the index has the listing", async () => {
  const readiness: any = await (await fetch(`${url}/ready`)).json();
  return readiness.search.listings === 1;
});
const [first] = await send(`${url}/api/v1/discover`, { body: { query: QUERY, explain: true } });

process.exitCode = 0;
console.log(JSON.stringify({ networks: Object.keys(networkInterfaces()), listed: listed.data.id, first }));
process.exit();
