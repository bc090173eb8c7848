// `npm run faucet`: gives a wallet money on the running local stack.
import { join } from "node:path";

import { formatUnits } from "viem";

import { readArguments, refuseArguments } from "./command/arguments.ts";
import { readStackFacts } from "./demo/stack-facts.ts";

const NETWORKS = ["base-sepolia", "base"];

const HELP = `usage: npm run faucet -- [--network ${NETWORKS.join("|")}] [--stack FILE] [--help] ADDRESS

Gives a wallet 1 ether, 1,000 USDC and, on base, 1 WETH of the running marketplace (\`npm start\`), three times an hour.
  --network NAME   the chain (default base-sepolia)
  --stack FILE     facts of the stack (default .local/stack.json)
  --help           this text`;

/** The parts of the API's answers that are shown. */
interface Answer {
  data?: { address: string; network: string; gifts: { symbol: string; amount: string; transactionHash: string }[] };
  error?: string;
  details?: unknown;
}

const DECIMALS: Readonly<Record<string, number>> = { USDC: 6 };
const ETHER_DECIMALS = 18;

const { values, positionals } = readArguments(
  HELP,
  {
    network: { type: "string", default: "base-sepolia" },
    stack: { type: "string", default: join(".local", "stack.json") },
  },
  { allowPositionals: true },
);
const [address, ...others] = positionals;
if (address === undefined || others.length > 0) refuseArguments("Name one address.");
if (!NETWORKS.includes(values.network)) {
  refuseArguments(`--network: "${values.network}" is not one of ${NETWORKS.join(", ")}`);
}

try {
  const { api } = readStackFacts(values.stack);
  const response = await fetch(`${api}/api/v1/faucet`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ address, network: values.network }),
  });
  const { data, error, details } = (await response.json()) as Answer;
  if (data === undefined) {
    const wait = response.headers.get("retry-after");
    const facts = [
      details === undefined ? "" : `: ${JSON.stringify(details)}`,
      wait === null ? "" : `, again in ${wait} s`,
    ];
    throw new Error(`${String(response.status)} ${error ?? ""}${facts.join("")}`);
  }
  for (const { symbol, amount, transactionHash } of data.gifts) {
    const shown = formatUnits(BigInt(amount), DECIMALS[symbol] ?? ETHER_DECIMALS);
    console.log(`${shown.padStart(5)} ${symbol.padEnd(5)} ${transactionHash}`);
  }
  console.log(`${data.address} has them on ${data.network}.`);
} catch (error) {
  console.error(`The faucet gave nothing: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
