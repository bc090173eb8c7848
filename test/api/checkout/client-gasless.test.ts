// What the client refuses to sign for a relayer, and what it warns of. The chain belongs to this file alone, because a
// resolver transfer would be seen by everybody on the stack's.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import { createWalletClient, http, parseEther, zeroAddress } from "viem";
import { generatePrivateKey, privateKeyToAccount, privateKeyToAddress } from "viem/accounts";

import { RefusedError, signFunding } from "../../../sdk/src/index.ts";
import type { EscrowTerms, FundingWarning, Wallet } from "../../../sdk/src/index.ts";
import { doorTo } from "../../fixtures/outage.ts";
import type { Door } from "../../fixtures/outage.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";
import { startOwnChain } from "../../fixtures/rulings.ts";
import type { OwnChain } from "../../fixtures/rulings.ts";

const HOUR = 3_600n;

describe("the client's signature for a gasless deal", () => {
  let chain: OwnChain;
  let door: Door;
  let signed = 0;
  const buyer = privateKeyToAccount(generatePrivateKey());

  before(async () => {
    chain = await startOwnChain();
    door = await doorTo(chain.rpcUrl);
  });
  beforeEach(() => {
    signed = 0;
    door.isOpen = true;
    delete door.translate;
  });
  after(async () => {
    await door.close();
    chain.close();
  });

  function wallet(): Wallet {
    const { client } = chain;
    const account = {
      ...buyer,
      signTypedData: ((typedData: never) => {
        signed += 1;
        return buyer.signTypedData(typedData);
      }) as typeof buyer.signTypedData,
    };
    return createWalletClient({ account, chain: client.chain, transport: http(door.url, { retryCount: 0 }) });
  }
  function termsWith(disputeWindow: bigint): EscrowTerms {
    const bytes = () => `0x${randomBytes(32).toString("hex")}` as const;
    return {
      escrowId: bytes(),
      buyer: buyer.address,
      seller: privateKeyToAddress(generatePrivateKey()),
      amount: 1_000_000n,
      token: chain.deployment.tokens[0]?.address ?? "0x",
      deadline: 2_000_000_000n,
      disputeWindow,
      abandonmentGrace: HOUR,
      criteriaHash: bytes(),
    };
  }
  const quoteEnd = () => BigInt(Math.floor(Date.now() / 1_000) + 900);
  function sign(disputeWindow = HOUR, validBefore = quoteEnd()) {
    const warnings: FundingWarning[] = [];
    const onWarning = (warning: FundingWarning) => {
      warnings.push(warning);
    };
    const { escrow } = chain.deployment;
    const options = { validBefore, onWarning };
    return { warnings, result: signFunding(wallet(), escrow, termsWith(disputeWindow), options) };
  }
  async function refused(part: RegExp, disputeWindow = HOUR): Promise<void> {
    const error = await rejectionOf(sign(disputeWindow).result, RefusedError);
    assert.match(error.message, part);
    assert.strictEqual(signed, 0, "nothing is signed");
  }

  for (const [role, code] of [
    ["system", 0],
    ["admin", 1],
  ] as const) {
    it(`[D13] isn't given while the ${role} resolver is being replaced, and is once that has ended`, async () => {
      const successor = privateKeyToAddress(generatePrivateKey());
      await chain.sendAs("owner", "transferResolver", [code, successor]);
      await refused(new RegExp(`${role} resolver is being replaced by ${successor}`));
      await chain.sendAs("owner", "transferResolver", [code, zeroAddress]);
      assert.isString((await sign().result).signature);
    });
  }

  it("[D13] isn't given while the resolver contract can't be read", async () => {
    const { resolver } = chain.deployment;
    const isOfResolver = (request: any) => request.params?.[0]?.to?.toLowerCase() === resolver.toLowerCase();
    const failure = (id: unknown) => ({ jsonrpc: "2.0", id, error: { code: -32_000, message: "header not found" } });
    door.translate = (request: any, answer) => (isOfResolver(request) ? failure(request.id) : answer);
    await refused(/can't be read/);
    door.isOpen = false;
    await refused(/can't be read/);
    door.isOpen = true;
    // An address without code has no resolver either.
    const options = { validBefore: quoteEnd() };
    const nowhere = privateKeyToAddress(generatePrivateKey());
    await rejectionOf(signFunding(wallet(), nowhere, termsWith(HOUR), options), RefusedError);
    assert.strictEqual(signed, 0);
  });

  it("[D13] isn't given for a dispute window under an hour", async () => {
    await refused(/dispute window of 300 s/, 300n);
    await refused(/dispute window of 3599 s/, HOUR - 1n);
    await sign(HOUR).result;
  });

  it("[D13] isn't given for longer than a quote lasts", async () => {
    const error = await rejectionOf(sign(HOUR, quoteEnd() + 90n).result, RefusedError);
    assert.match(error.message, /a quote ends by \d+/);
    assert.strictEqual(signed, 0, "nothing is signed");
    assert.isString((await sign(HOUR, quoteEnd() + 30n).result).signature);
  });

  it("[D13] warns a buyer without ether that it can't dispute, and signs", async () => {
    const warned = async (value: bigint) => {
      await chain.client.setBalance({ address: buyer.address, value });
      const { warnings, result } = sign();
      assert.isString((await result).signature);
      return warnings.map(({ code }) => code);
    };
    assert.deepEqual(await warned(0n), ["no_ether_for_dispute"]);
    assert.deepEqual(await warned(1n), ["no_ether_for_dispute"]);
    assert.deepEqual(await warned(parseEther("1")), []);
    const isOfBalance = (request: any) => request.method === "eth_getBalance";
    const failure = (id: unknown) => ({ jsonrpc: "2.0", id, error: { code: -32_000, message: "busy" } });
    door.translate = (request: any, answer) => (isOfBalance(request) ? failure(request.id) : answer);
    assert.deepEqual(await warned(parseEther("1")), ["no_ether_for_dispute"]);
  });
});
