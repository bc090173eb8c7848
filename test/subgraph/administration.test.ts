import { assert } from "chai";
import { concat, createWalletClient, http, keccak256, parseAbi, zeroAddress } from "viem";
import type { Account, Address, Hex, TransactionReceipt } from "viem";

import { readDeployment } from "../../deploy/system/deployment-file.ts";
import { BYTECODES, implementationCode } from "../../deploy/system/implementations.ts";
import type { Marketplace } from "./support/marketplace.ts";
import { littleEndian } from "./support/marketplace.ts";
import { ownStack } from "./support/own-stack.ts";

const SYSTEM = 0;
const ADMIN = 1;
const ownedAbi = parseAbi([
  "function owner() view returns (address)",
  "function transferOwnership(address newOwner)",
  "function acceptOwnership()",
  "function upgradeToAndCall(address implementation, bytes data) payable",
]);

interface Configuration {
  readonly treasury: string;
  readonly pauser: string;
  readonly pendingPauser: string | null;
  readonly paused: boolean;
  readonly systemResolver: string | null;
  readonly pendingSystemResolver: string | null;
  readonly adminResolver: string | null;
  readonly pendingAdminResolver: string | null;
  readonly rulingsPaused: boolean;
}
interface Change {
  readonly type: string;
  readonly contract: { readonly name: string };
  readonly previous: string | null;
  readonly current: string | null;
  readonly role: string | null;
}

// These tests hand over roles and change code, so they start a stack of their own.
describe("the subgraph follows who runs the contracts", () => {
  const stack = ownStack();
  let market: Marketplace;
  before(() => {
    ({ market } = stack);
  });

  const lower = ({ address }: { address: string }): string => address.toLowerCase();
  async function configuration({ blockNumber }: TransactionReceipt): Promise<Configuration> {
    const query = `{ configuration(id: "base-sepolia") { treasury pauser pendingPauser paused systemResolver
      pendingSystemResolver adminResolver pendingAdminResolver rulingsPaused } }`;
    return (await market.query<{ configuration: Configuration }>(query, {}, blockNumber)).configuration;
  }
  /** What the log has of one transaction. */
  async function changesOf({ transactionHash, blockNumber }: TransactionReceipt): Promise<readonly Change[]> {
    const query = `query ($tx: Bytes!) { administrationEvents(where: { txHash: $tx }, orderBy: ordinal) {
      type contract { name } previous current role } }`;
    interface Answer {
      administrationEvents: readonly Change[];
    }
    return (await market.query<Answer>(query, { tx: transactionHash }, blockNumber)).administrationEvents;
  }
  const change = (name: string, type: string, previous: string | null, current: string | null): Change => ({
    type,
    contract: { name },
    previous,
    current,
    role: null,
  });

  it("from the deployment on: roles, tenures, code and the list of tokens", async () => {
    const owner = market.role("owner");
    const latest = { blockNumber: await market.client.getBlockNumber() } as TransactionReceipt;
    assert.deepEqual(await configuration(latest), {
      treasury: lower(market.role("treasury")),
      pauser: lower(market.role("pauser")),
      pendingPauser: null,
      paused: false,
      systemResolver: lower(market.role("systemResolver")),
      pendingSystemResolver: null,
      adminResolver: lower(market.role("adminResolver")),
      pendingAdminResolver: null,
      rulingsPaused: false,
    });
    const query = `{
      contracts { id name owner pendingOwner upgrades version implementation }
      protocol(id: "base-sepolia") { created agents }
    }`;
    interface Answer {
      contracts: { id: string; name: string; owner: string; implementation: string; upgrades: number }[];
      protocol: unknown;
    }
    const { contracts, protocol } = await market.query<Answer>(query, {}, latest.blockNumber);
    assert.deepEqual(protocol, { created: 0, agents: 0 }, "the totals can be read before the first escrow");
    const deployment = await readDeployment(stack.facts.deployments["base-sepolia"] ?? "");
    assert.sameDeepMembers(
      contracts,
      (["escrow", "score", "resolver"] as const).map((key) => ({
        id: deployment?.contracts[key].proxy.toLowerCase() ?? "",
        name: { escrow: "EscrowV2", score: "ScoreV2", resolver: "ResolverV2" }[key],
        implementation: deployment?.contracts[key].implementation.toLowerCase() ?? "",
        owner: lower(owner),
        pendingOwner: null,
        upgrades: 0,
        version: "1",
      })),
    );
  });

  it("[D14] a pauser is proposed, accepts, and stops new escrows and rulings", async () => {
    const [former, next] = [market.role("pauser"), await market.newParty()];
    const proposed = await market.confirmed(market.escrowAs(market.role("owner")).write.transferPauser([next.address]));
    const { pauser, pendingPauser } = await configuration(proposed);
    assert.deepEqual([pauser, pendingPauser], [lower(former), lower(next)]);

    const accepted = await market.confirmed(market.escrowAs(next).write.acceptPauser());
    const after = await configuration(accepted);
    assert.deepEqual([after.pauser, after.pendingPauser], [lower(next), null]);
    assert.deepEqual(await changesOf(accepted), [change("EscrowV2", "PauserTransferred", lower(former), lower(next))]);

    const paused = await market.confirmed(market.escrowAs(next).write.pause());
    const ruled = await market.confirmed(market.resolverAs(next).write.pauseRulings());
    const stopped = await configuration(ruled);
    assert.deepEqual([stopped.paused, stopped.rulingsPaused], [true, true]);
    assert.deepEqual(await changesOf(paused), [change("EscrowV2", "Paused", null, lower(next))]);
    await market.confirmed(market.escrowAs(next).write.unpause());
    const resumed = await configuration(await market.confirmed(market.resolverAs(next).write.unpauseRulings()));
    assert.deepEqual([resumed.paused, resumed.rulingsPaused], [false, false]);
  });

  it("[D14] a resolver's tenure is what the resolver contract says, through a handover and a revocation", async () => {
    const [former, next] = [market.role("systemResolver"), await market.newParty()];
    const owner = market.resolverAs(market.role("owner"));
    const proposed = await market.confirmed(owner.write.transferResolver([SYSTEM, next.address]));
    assert.strictEqual((await configuration(proposed)).pendingSystemResolver, lower(next));
    const accepted = await market.confirmed(market.resolverAs(next).write.acceptResolver([SYSTEM]));
    const { systemResolver, pendingSystemResolver } = await configuration(accepted);
    assert.deepEqual([systemResolver, pendingSystemResolver], [lower(next), null]);
    await assertTenures(accepted, [former, next], SYSTEM);

    const revoked = await market.confirmed(owner.write.revokeResolver([SYSTEM, next.address]));
    assert.strictEqual((await configuration(revoked)).systemResolver, null);
    assert.deepEqual(await changesOf(revoked), [
      { ...change("ResolverV2", "ResolverRevoked", lower(next), null), role: "System" },
    ]);
    await market.confirmed(owner.write.revokeResolver([SYSTEM, former.address]));
    const admin = market.role("adminResolver");
    await market.confirmed(owner.write.transferResolver([ADMIN, next.address]));
    const withdrawn = await market.confirmed(owner.write.transferResolver([ADMIN, zeroAddress]));
    const { adminResolver, pendingAdminResolver } = await configuration(withdrawn);
    assert.deepEqual([adminResolver, pendingAdminResolver], [lower(admin), null], "a proposal can be withdrawn");
    await assertTenures(withdrawn, [former, next], SYSTEM);
    await assertTenures(withdrawn, [admin], ADMIN);
  });

  async function assertTenures({ blockNumber }: TransactionReceipt, holders: Account[], role: number): Promise<void> {
    const query = `query ($id: ID!) { resolverTenure(id: $id) { role from until revoked } }`;
    for (const { address } of holders) {
      const id = concat([littleEndian(role), address.toLowerCase() as Hex]);
      const { resolverTenure: tenure } = await market.query<{
        resolverTenure: { role: string; from: string; until: string | null; revoked: boolean };
      }>(query, { id }, blockNumber);
      const onChain = await market.resolverAs(market.role("owner")).read.tenureOf([role, address], { blockNumber });
      assert.deepEqual(
        { ...tenure, from: BigInt(tenure.from), until: tenure.until === null ? 2n ** 64n - 1n : BigInt(tenure.until) },
        { role: role === SYSTEM ? "System" : "Admin", ...onChain },
      );
    }
  }

  it("fees of each treasury are kept apart", async () => {
    const [buyer, seller, next] = [await market.newParty(), await market.newParty(), await market.newParty()];
    const former = market.role("treasury");
    await market.createEscrow(buyer, seller, { amount: 1_000_001n });
    const moved = await market.confirmed(market.escrowAs(market.role("owner")).write.setTreasury([next.address]));
    assert.strictEqual((await configuration(moved)).treasury, lower(next));
    assert.deepEqual(await changesOf(moved), [change("EscrowV2", "TreasurySet", lower(former), lower(next))]);
    await market.createEscrow(buyer, seller, { amount: 2_000_000n });
    const { receipt } = await market.createEscrow(buyer, seller, { amount: 3_000_000n });
    const query = `{ token(id: "${market.usdc.toLowerCase()}") { created deposited fees locked
      treasuries(orderBy: escrows) { treasury escrows fees feesUsd } } }`;
    assert.deepEqual(await market.query(query, {}, receipt.blockNumber), {
      token: {
        created: 3,
        deposited: "6000001",
        fees: "120001",
        locked: "5880000",
        treasuries: [
          { treasury: lower(former), escrows: 1, fees: "20001", feesUsd: "20001" },
          { treasury: lower(next), escrows: 2, fees: "100000", feesUsd: "100000" },
        ],
      },
    });
  });

  it("the list of tokens keeps its history", async () => {
    const escrow = market.escrowAs(market.role("owner"));
    const config = await escrow.read.tokenConfig([market.usdc]);
    const delisted = await market.confirmed(escrow.write.delistToken([market.usdc]));
    const relisted = await market.confirmed(
      escrow.write.listToken([market.usdc, { ...config, listed: true, minAmount: 20_000n }]),
    );
    const usdc = market.usdc.toLowerCase();
    assert.deepEqual(await changesOf(delisted), [change("EscrowV2", "TokenDelisted", null, usdc)]);
    const query = `query ($tx: Bytes!) { administrationEvents(where: { txHash: $tx }) {
      type current feed maxPriceAge minAmount } }`;
    assert.deepEqual(await market.query(query, { tx: relisted.transactionHash }, relisted.blockNumber), {
      administrationEvents: [
        { type: "TokenListed", current: usdc, feed: zeroAddress, maxPriceAge: "0", minAmount: "20000" },
      ],
    });
  });

  it("[D14] an upgrade and a change of owner are recorded for each contract", async () => {
    const [owner, next] = [market.role("owner"), await market.newParty()];
    const deployment = await readDeployment(stack.facts.deployments["base-sepolia"] ?? "");
    assert.ok(deployment !== undefined);
    const named = { escrow: "EscrowV2", score: "ScoreV2", resolver: "ResolverV2" } as const;
    for (const key of ["escrow", "score", "resolver"] as const) {
      const proxy = deployment.contracts[key].proxy as Address;
      const { implementation: former } = deployment.contracts[key];
      const implementation = await deploy(owner, implementationCode(deployment, key, BYTECODES[key]) as Hex);
      const asOwner = market.contractAs(owner, proxy, ownedAbi);
      const upgraded = await market.confirmed(asOwner.write.upgradeToAndCall([implementation, "0x"]));
      assert.deepEqual(await changesOf(upgraded), [
        change(named[key], "Upgraded", former.toLowerCase(), implementation.toLowerCase()),
      ]);
      const proposed = await market.confirmed(asOwner.write.transferOwnership([next.address]));
      assert.deepEqual(await changesOf(proposed), [
        change(named[key], "OwnershipTransferStarted", lower(owner), lower(next)),
      ]);
      const query = `{ contract(id: "${proxy.toLowerCase()}") { upgrades implementation owner pendingOwner } }`;
      const code = { upgrades: 1, implementation: implementation.toLowerCase() };
      assert.deepEqual(await market.query(query, {}, proposed.blockNumber), {
        contract: { ...code, owner: lower(owner), pendingOwner: lower(next) },
      });
      const accepted = await market.confirmed(market.contractAs(next, proxy, ownedAbi).write.acceptOwnership());
      assert.deepEqual(await market.query(query, {}, accepted.blockNumber), {
        contract: { ...code, owner: lower(next), pendingOwner: null },
      });
    }
  });

  async function deploy(account: Account, data: Hex): Promise<Address> {
    const { chain, transport } = market.client;
    const wallet = createWalletClient({ account, chain, transport: http(transport.url) });
    const { contractAddress } = await market.confirmed(wallet.sendTransaction({ data }));
    assert.ok(contractAddress, `no contract for ${keccak256(data)}`);
    return contractAddress;
  }
});
