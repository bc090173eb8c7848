// What the keeper's variables may be.
import { assert } from "chai";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";

import { ConfigurationError, loadEnv } from "../../../api/config/env.ts";
import { errorOf } from "../../fixtures/rejection.ts";

const complete = {
  MONGODB_URI: "mongodb://127.0.0.1:1/?replicaSet=rs0",
  RPC_URL_BASE_SEPOLIA: "http://127.0.0.1:8545",
  RPC_URL_BASE: "http://127.0.0.1:8546",
  SUBGRAPH_URL_BASE_SEPOLIA: "http://127.0.0.1:8000/a",
  SUBGRAPH_URL_BASE: "http://127.0.0.1:8000/b",
};

describe("the keeper's configuration", () => {
  const KEEPER_PRIVATE_KEY = generatePrivateKey();

  it("is empty by default, with a cap of 0.01 ether a day on each network", () => {
    const { privateKey, dailyCapWei } = loadEnv(complete).keeper;
    assert.isUndefined(privateKey);
    assert.deepEqual(dailyCapWei, { "base-sepolia": 10n ** 16n, base: 10n ** 16n });
  });

  it("takes a key and a cap for each network", () => {
    const caps = { KEEPER_DAILY_CAP_WEI_BASE: "0", KEEPER_DAILY_CAP_WEI_BASE_SEPOLIA: "100000000000000000000" };
    const { privateKey, dailyCapWei } = loadEnv({ ...complete, KEEPER_PRIVATE_KEY, ...caps }).keeper;
    assert.strictEqual(privateKey, KEEPER_PRIVATE_KEY);
    assert.deepEqual(dailyCapWei, { "base-sepolia": 10n ** 20n, base: 0n });
  });

  for (const name of [
    ...["RESOLVER_KEY_BASE_SEPOLIA", "RESOLVER_KEY_BASE"],
    ...["ADMIN_RESOLVER_KEY_BASE_SEPOLIA", "ADMIN_RESOLVER_KEY_BASE"],
  ]) {
    it(`refuses the key of ${name}, in any case of its letters`, () => {
      const keys = { KEEPER_PRIVATE_KEY, [name]: `0x${KEEPER_PRIVATE_KEY.slice(2).toUpperCase()}` };
      const { message } = errorOf(() => loadEnv({ ...complete, ...keys }), ConfigurationError);
      assert.include(message, `KEEPER_PRIVATE_KEY is the key of ${name}`);
      assert.notInclude(message.toLowerCase(), KEEPER_PRIVATE_KEY.slice(2));
    });
  }

  describe("beside the keys of other senders", () => {
    const key = generatePrivateKey();
    const settling = { X402_PAY_TO: privateKeyToAddress(generatePrivateKey()), X402_NETWORK: "base" };
    const messageOf = (keys: Record<string, string>) =>
      errorOf(() => loadEnv({ ...complete, ...settling, ...keys }), ConfigurationError).message;

    for (const [name, other] of [
      ["KEEPER_PRIVATE_KEY", "X402_SETTLEMENT_KEY"],
      ["X402_SETTLEMENT_KEY", "ADMIN_RESOLVER_KEY_BASE"],
      ["X402_SETTLEMENT_KEY", "RESOLVER_KEY_BASE"],
      ["ADMIN_RESOLVER_KEY_BASE", "RESOLVER_KEY_BASE"],
      ["ADMIN_RESOLVER_KEY_BASE_SEPOLIA", "RESOLVER_KEY_BASE_SEPOLIA"],
    ] as const) {
      it(`refuses one key for ${name} and ${other}`, () => {
        const message = messageOf({ [name]: key, [other]: key });
        assert.include(message, `${name} is the key of ${other}: each needs a wallet of its own`);
        assert.notInclude(message, key.slice(2));
      });
    }

    it("takes one key for senders on different networks", () => {
      const keys = {
        X402_SETTLEMENT_KEY: key,
        RESOLVER_KEY_BASE_SEPOLIA: key,
        ADMIN_RESOLVER_KEY_BASE: generatePrivateKey(),
      };
      assert.strictEqual(loadEnv({ ...complete, ...settling, ...keys }).x402.settlementKey, key);
      const twice = { RESOLVER_KEY_BASE: key, RESOLVER_KEY_BASE_SEPOLIA: key };
      assert.strictEqual(loadEnv({ ...complete, ...twice }).disputes.resolverKeys.base.system, key);
    });
  });

  it("refuses what isn't a key or a number of wei, without showing it", () => {
    const wrong = { KEEPER_PRIVATE_KEY: "0x1234", KEEPER_DAILY_CAP_WEI_BASE: "0.01" };
    const { message } = errorOf(() => loadEnv({ ...complete, ...wrong }), ConfigurationError);
    assert.include(message, "KEEPER_PRIVATE_KEY");
    assert.include(message, "KEEPER_DAILY_CAP_WEI_BASE must be a whole number of wei");
    assert.notInclude(message, "0x1234");
  });
});
