// Signed payments of wallets with code: tokens ask such a wallet about its signatures and no longer look at its key.
import { assert } from "chai";
import type { Hex } from "viem";

import { assertError, listingBody } from "../../fixtures/api.ts";
import type { Answer, TestAgent } from "../../fixtures/api.ts";
import { oddNodeTo } from "../../fixtures/odd-node.ts";
import type { OddNode } from "../../fixtures/odd-node.ts";
import { CALL_UNITS, headerV1, headerV2, signTransfer, startPaidApi } from "../../fixtures/payments.ts";
import type { PaidApi } from "../../fixtures/payments.ts";
import { openChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

const THOUSAND_USDC = 1_000_000_000n;

/** Code without ERC-1271. */
const WITHOUT: Readonly<Record<string, Hex>> = {
  "that returns nothing": "0x00",
  "that reverts": "0x5f5ffd",
  // `mstore(0, 1)`, `return(0, 32)`.
  "that answers everything alike": "0x60015f5260205ff3",
};
/** Returns `0xffffffff` to `isValidSignature`, and reverts otherwise. */
const WITH_ERC1271: Hex = "0x5f3560e01c631626ba7e146011575f5ffd5b63ffffffff60e01b5f5260205ff3";

describe("a signed payment of a wallet with code", () => {
  let paid: PaidApi;
  let node: OddNode;
  let agent: TestAgent;

  before(async () => {
    node = await oddNodeTo((await openChain("base-sepolia")).rpcUrl);
    paid = await startPaidApi({ rpcUrl: node.url });
  });
  beforeEach(async () => {
    agent = await paid.richAgent();
  });
  afterEach(() => {
    node.odd = undefined;
  });
  after(async () => {
    await paid.close();
    await node.close();
  });

  const setCode = (bytecode: Hex) => paid.chain.client.setCode({ address: agent.walletAddress, bytecode });
  const create = (headers: Record<string, string>): Promise<Answer> =>
    paid.api.request("POST", "/api/v1/services", { key: agent.apiKey, body: listingBody(), headers });
  const signed = async (version: 1 | 2): Promise<Record<string, string>> => {
    const payment = await signTransfer(paid, agent.account);
    return version === 1 ? headerV1(payment) : headerV2(paid, payment);
  };

  for (const version of [1, 2] as const) {
    for (const [name, bytecode] of Object.entries(WITHOUT)) {
      it(`${name}: is refused with wallet_has_code, and counts once the code is gone (version ${version}) [D36]`, async () => {
        const proof = await signed(version);
        await setCode(bytecode);
        const answer = await create(proof);
        assert.deepEqual([answer.status, answer.body.details?.reason], [402, "wallet_has_code"], answer.text);
        await setCode("0x");
        assert.strictEqual((await create(proof)).status, 201);
        assert.strictEqual(THOUSAND_USDC - (await paid.chain.usdcOf(agent.walletAddress)), CALL_UNITS.api);
      });
    }

    it(`with ERC-1271 that refuses it: has an invalid signature (version ${version}) [D36]`, async () => {
      const proof = await signed(version);
      await setCode(WITH_ERC1271);
      const answer = await create(proof);
      assert.deepEqual([answer.status, answer.body.details?.reason], [402, "invalid_signature"], answer.text);
    });

    for (const method of ["eth_getCode", "eth_call"] as const) {
      it(`is answered 503 while the node fails at ${method} (version ${version}) [D36]`, async () => {
        const proof = await signed(version);
        await setCode("0x00");
        node.odd = (asked) => (asked === method ? { kind: "status", status: 503 } : undefined);
        assertError(await create(proof), 503, "chain_unavailable");
        node.odd = undefined;
        await until(
          "the wallet is judged",
          async () => (await create(proof)).body.details?.reason === "wallet_has_code",
        );
      });
    }
  }
});
