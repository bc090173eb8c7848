// Multicall3, through which the official x402 packages read a payer's balance and nonce.
import { assert } from "chai";
import { erc20Abi } from "viem";

import { NETWORKS } from "../../../api/config/constants.ts";
import { MULTICALL3 } from "../../../deploy/run/local-tokens.ts";
import { openChain } from "../../fixtures/stack.ts";

describe("Multicall3 of the local chains", () => {
  for (const network of NETWORKS) {
    it(`reads several values of ${network} at once, and survives a call that reverts`, async () => {
      const { client, deployment } = await openChain(network);
      const token = { address: deployment.tokens[0]?.address ?? "0x", abi: erc20Abi } as const;
      const results = await client.multicall({
        multicallAddress: MULTICALL3,
        contracts: [
          { ...token, functionName: "decimals" },
          { ...token, functionName: "transfer", args: [deployment.escrow, 1n] },
          { ...token, functionName: "balanceOf", args: [deployment.escrow] },
        ],
      });
      assert.deepEqual(
        results.map(({ status }) => status),
        ["success", "failure", "success"],
      );
      assert.strictEqual(results[0].result, 6);
    });
  }
});
