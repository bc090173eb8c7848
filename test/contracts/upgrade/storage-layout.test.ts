import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";

import type { StorageLayout } from "@openzeppelin/upgrades-core";
import { expect } from "chai";
import hre from "hardhat";

import type { ImplementationReport } from "../../../deploy/layout/storage-layout.ts";
import {
  UPGRADEABLE_CONTRACTS,
  comparable,
  implementationReports,
  layoutConflicts,
  readBaseline,
  writeBaselines,
} from "../../../deploy/layout/storage-layout.ts";
import { ethers, loadFixture } from "../fixtures/chain.ts";
import { dealIn, disputed } from "../fixtures/deals.ts";
import { marketplace } from "../fixtures/marketplace.ts";

const NAMESPACE = "erc7201:marketplace.storage.Escrow";
const ESCROWS_SLOT = 3n;

/** A copy of a layout whose fields of the escrow contract were changed. */
function changed(
  layout: StorageLayout,
  change: (fields: NonNullable<StorageLayout["namespaces"]>[string]) => void,
): StorageLayout {
  const copy = structuredClone(layout);
  const fields = copy.namespaces?.[NAMESPACE];
  if (!fields) throw new Error("The layout has no namespace of the escrow contract");
  change(fields);
  return copy;
}

describe("Storage layouts", function () {
  this.timeout(60_000);
  const root = hre.config.paths.root;
  let reports: Record<string, ImplementationReport>;
  const report = (name: string): ImplementationReport => {
    const found = reports[name];
    if (!found) throw new Error(`No report of ${name}`);
    return found;
  };

  before(async () => {
    await hre.tasks.getTask("build").run({ quiet: true, noTests: true });
    const own = UPGRADEABLE_CONTRACTS.map((name) => [name, `contracts/${name}.sol`]);
    const next = ["NextEscrow", "NextScore", "NextResolver"].map((name) => [
      name,
      "contracts/mocks/NextGeneration.sol",
    ]);
    reports = await implementationReports(hre, Object.fromEntries([...own, ...next]) as Record<string, string>);
  });

  for (const name of UPGRADEABLE_CONTRACTS) {
    it(`${name} reads what its baseline stored, and the baseline is the present layout`, async () => {
      const baseline = await readBaseline(root, name);
      expect(layoutConflicts(baseline, report(name).layout)).to.deep.equal([]);
      expect(comparable(report(name).layout)).to.deep.equal(comparable(baseline));
    });

    it(`${name} is safe behind a UUPS proxy and keeps nothing outside of its namespaces`, () => {
      expect(report(name).unsafe).to.equal(null);
      expect(report(name).layout.storage).to.deep.equal([]);
    });
  }

  it("lets a later implementation add fields and namespaces", async () => {
    for (const [baseline, next] of [
      ["EscrowV2", "NextEscrow"],
      ["ScoreV2", "NextScore"],
      ["ResolverV2", "NextResolver"],
    ] as const) {
      expect(layoutConflicts(await readBaseline(root, baseline), report(next).layout)).to.deep.equal([]);
    }
    const baseline = await readBaseline(root, "EscrowV2");
    const appended = changed(baseline, (fields) => {
      fields.push({ label: "later", type: "t_uint256", contract: "EscrowStorage", src: "", slot: "10", offset: 0 });
    });
    expect(layoutConflicts(baseline, appended)).to.deep.equal([]);
  });

  const breaks: [string, Parameters<typeof changed>[1]][] = [
    ["removes a field", (fields) => fields.splice(2, 1)],
    ["inserts a field", (fields) => fields.splice(2, 0, { ...(fields[2] as (typeof fields)[0]), label: "early" })],
    ["swaps two fields", (fields) => fields.splice(1, 2, ...fields.slice(1, 3).reverse())],
    ["retypes a field", (fields) => Object.assign(fields.at(-1) ?? {}, { type: "t_bool" })],
    ["moves a field to another slot", (fields) => Object.assign(fields.at(-1) ?? {}, { slot: "13" })],
  ];
  for (const [title, change] of breaks) {
    it(`objects to an implementation that ${title}`, async () => {
      const baseline = await readBaseline(root, "EscrowV2");
      expect(layoutConflicts(baseline, changed(baseline, change))).not.to.deep.equal([]);
    });
  }

  describe("when they are recorded", () => {
    let scratch: string;
    beforeEach(async () => {
      scratch = await mkdtemp(path.join(os.tmpdir(), "layouts-"));
    });
    afterEach(() => rm(scratch, { recursive: true }));
    /** Layouts as a file holds them. */
    const layoutsOf = (escrow: StorageLayout, score: StorageLayout): Record<string, StorageLayout> =>
      JSON.parse(JSON.stringify({ ScoreV2: score, EscrowV2: escrow })) as Record<string, StorageLayout>;
    /** What the files of the scratch folder hold. */
    const written = async (): Promise<Record<string, StorageLayout>> => ({
      EscrowV2: await readBaseline(scratch, "EscrowV2"),
      ScoreV2: await readBaseline(scratch, "ScoreV2"),
    });

    it("are written where there was none, and replaced by one that only adds", async () => {
      const first = layoutsOf(report("EscrowV2").layout, report("ScoreV2").layout);
      await writeBaselines(scratch, first, false);
      expect(await written()).to.deep.equal(first);
      const next = layoutsOf(report("NextEscrow").layout, report("NextScore").layout);
      await writeBaselines(scratch, next, false);
      expect(await written()).to.deep.equal(next);
    });

    for (const [title, change] of breaks) {
      it(`are all left as they are by an implementation that ${title}, unless they are forced`, async () => {
        const first = layoutsOf(report("EscrowV2").layout, report("ScoreV2").layout);
        await writeBaselines(scratch, first, false);
        // The score contract's, which fits, comes first.
        const next = layoutsOf(changed(report("EscrowV2").layout, change), report("NextScore").layout);
        await writeBaselines(scratch, next, false).then(
          () => expect.fail("the baseline was overwritten"),
          (error: unknown) => {
            expect((error as Error).message).to.match(/The baselines stay as they are[^]*EscrowV2: /);
          },
        );
        expect(await written()).to.deep.equal(first);
        await writeBaselines(scratch, next, true);
        expect(await written()).to.deep.equal(next);
      });
    }
  });

  it("names the slots by the ERC-7201 formula", async () => {
    const market = await loadFixture(marketplace);
    const slotOf = (name: string): string => {
      const inner = BigInt(ethers.id(name)) - 1n;
      const hash = BigInt(ethers.keccak256(ethers.AbiCoder.defaultAbiCoder().encode(["uint256"], [inner])));
      return ethers.toBeHex(hash & ~0xffn, 32);
    };
    /** A word of a contract, or of the mapping that begins there. */
    const read = async (contract: { getAddress: () => Promise<string> }, name: string, key?: bigint | string) => {
      const slot = slotOf(name);
      const place =
        key === undefined
          ? slot
          : ethers.solidityPackedKeccak256(["bytes32", "bytes32"], [ethers.toBeHex(key, 32), slot]);
      return ethers.provider.getStorage(await contract.getAddress(), place);
    };
    const { escrow, score, resolver, actors } = market;
    expect(await read(escrow, "marketplace.storage.Escrow")).to.match(
      new RegExp(`${actors.treasury.address.slice(2)}$`, "i"),
    );
    await dealIn(market, "Released");
    expect(BigInt(await read(score, "marketplace.storage.Score", actors.seller.address))).to.equal(1n);
    expect(await read(resolver, "marketplace.storage.Resolver", 1n)).to.match(
      new RegExp(`${actors.adminResolver.address.slice(2)}$`, "i"),
    );
  });

  it("keeps every bit of an escrow where a later implementation will look for it", async () => {
    const market = await loadFixture(marketplace);
    const deal = await disputed(market, { amount: 9_876_543n, disputeWindow: 86_399n, abandonmentGrace: 2_591_999n });
    const base = BigInt(ethers.id(NAMESPACE.slice("erc7201:".length))) - 1n;
    const coder = ethers.AbiCoder.defaultAbiCoder();
    const namespace = BigInt(ethers.keccak256(coder.encode(["uint256"], [base]))) & ~0xffn;
    const record = BigInt(
      ethers.keccak256(coder.encode(["bytes32", "uint256"], [deal.escrowId, namespace + ESCROWS_SLOT])),
    );
    const word = async (offset: bigint): Promise<bigint> =>
      BigInt(await ethers.provider.getStorage(await market.escrow.getAddress(), record + offset));

    const { buyer, seller } = market.actors;
    const progress =
      BigInt(seller.address) |
      (5n << 160n) | // Disputed
      (deal.createdAt << 163n) |
      ((deal.deadline - deal.createdAt) << 195n) |
      ((deal.deliveredAt - deal.createdAt) << 217n) |
      ((deal.disputedAt - deal.deliveredAt) << 239n);
    const terms =
      BigInt(buyer.address) |
      (86_399n << 160n) |
      (2_591_999n << 177n) |
      (1n << 199n) | // USDC is the first token
      (9_876_543n << 204n);
    expect(await word(0n)).to.equal(progress);
    expect(await word(1n)).to.equal(terms);
    expect(await word(2n)).to.equal(BigInt(deal.criteriaHash));
    expect(await word(3n)).to.equal(0n);
  });
});
