import { format } from "prettier";

import { EscrowV2__factory } from "../../../typechain-types/factories/contracts/EscrowV2__factory.ts";
import { IEscrow__factory } from "../../../typechain-types/factories/contracts/interfaces/IEscrow__factory.ts";
import { IPriceFeed__factory } from "../../../typechain-types/factories/contracts/interfaces/IPriceFeed__factory.ts";
import { IResolver__factory } from "../../../typechain-types/factories/contracts/interfaces/IResolver__factory.ts";
import { IScore__factory } from "../../../typechain-types/factories/contracts/interfaces/IScore__factory.ts";
import { ResolverV2__factory } from "../../../typechain-types/factories/contracts/ResolverV2__factory.ts";
import { ScoreV2__factory } from "../../../typechain-types/factories/contracts/ScoreV2__factory.ts";

/** The interfaces that the API calls. A committed copy, so that production needs neither the compiler nor its bindings. */
export function apiAbis(): Promise<string> {
  return abiModule([
    ["escrowAbi", "Interface of the escrow contract.", IEscrow__factory.abi],
    ["scoreAbi", "Interface of the score contract.", IScore__factory.abi],
    ["resolverAbi", "Interface of the resolver contract.", IResolver__factory.abi],
    ["priceFeedAbi", "Interface of a token's USD price feed.", IPriceFeed__factory.abi],
  ]);
}

/** The interfaces that wallets call, for the client in sdk/. */
export function sdkAbis(): Promise<string> {
  return abiModule([
    ["escrowAbi", "Interface of the escrow contract.", IEscrow__factory.abi],
    ["resolverAbi", "Interface of the resolver contract.", IResolver__factory.abi],
  ]);
}

/** The indexed contracts. */
const INDEXED = { EscrowV2: EscrowV2__factory, ScoreV2: ScoreV2__factory, ResolverV2: ResolverV2__factory };

/**
 * The events that the subgraph reads from a contract, with those of its bases. A committed copy, so that the subgraph
 * compiles beside the contracts.
 */
export function subgraphAbi(contract: keyof typeof INDEXED): Promise<string> {
  const events = INDEXED[contract].abi.filter(({ type }) => type === "event");
  return format(JSON.stringify(events), { parser: "json", printWidth: 120 });
}

function abiModule(
  abis: readonly (readonly [name: string, comment: string, abi: readonly object[]])[],
): Promise<string> {
  const exports = abis.map(
    ([name, comment, abi]) => `/** ${comment} */\nexport const ${name} = ${JSON.stringify(abi)} as const;\n`,
  );
  const header = "// Generated from contracts/interfaces by `npm run generate`.\n\n";
  return format(header + exports.join("\n"), { parser: "typescript", printWidth: 120 });
}
