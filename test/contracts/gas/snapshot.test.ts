import { readFileSync } from "node:fs";

import { expect } from "chai";
import hre from "hardhat";

import { DEAL_IN_PLAIN_TOKEN, DEPLOYMENT, type GasReport, measureGas, WHOLE_DEAL } from "../../bench/gas-measure.ts";
import {
  EXPLAINED_ABOVE,
  explainedParts,
  type GasSnapshot,
  readSnapshot,
  stalePages,
} from "../../bench/gas-snapshot.ts";
import { isKnown } from "../../bench/gas-without.ts";

/** EIP-170 and EIP-3860, in bytes. */
const CODE_SIZE_LIMIT = 24_576;
const CREATION_CODE_LIMIT = 49_152;
/** Roles and a few tokens. */
const ARGUMENTS = 1_000;
/** In USDC as it is on Base, and in a token that is a plain contract. */
const AIMS = { [WHOLE_DEAL]: 286_000, [DEAL_IN_PLAIN_TOKEN]: 257_000 };
const MOST_OF_A_PART = 5_000;

function committed(): GasSnapshot {
  const snapshot = readSnapshot();
  if (snapshot === undefined) throw new Error("test/bench/gas-snapshot.json is missing: npm run bench:gas -- --write");
  return snapshot;
}

describe("gas of the operations", () => {
  let report: GasReport;
  const snapshot = committed();

  before("measure behind the proxies with everything on", async function () {
    // Code that counts its own lines costs more and is larger.
    if (hre.globalOptions.coverage) this.skip();
    report = await measureGas();
  });

  it("is what test/bench/gas-snapshot.json says (if not: npm run bench:gas -- --write)", () => {
    expect({ ...report, without: snapshot.without }).to.deep.equal(snapshot);
  });

  it("has what parts of the contract cost from this very code (if not: npm run bench:gas -- --write)", async () => {
    expect(await isKnown(snapshot.without, report.gas["createEscrow"] ?? 0)).to.equal(true);
  });

  it("is what the pages in docs say (if not: npm run bench:gas -- --write)", () => {
    expect(stalePages({ ...report, without: snapshot.without })).to.deep.equal([]);
  });

  it("is at most 286,000 for create, deliver and accept in USDC, and 257,000 in a plain token", () => {
    for (const [deal, aim] of Object.entries(AIMS)) expect(report.gas[deal], deal).to.be.at.most(aim);
  });

  it("is explained above 242,000 by parts of at most 5,000, each of them named in docs/operations/gas.md", () => {
    const parts = explainedParts({ ...report, without: snapshot.without });
    const page = readFileSync("docs/operations/gas.md", "utf8");
    let explained = 0;
    for (const [name, gas] of Object.entries(parts)) {
      expect(gas, name).to.be.within(1, MOST_OF_A_PART);
      expect(page).to.include(`<!-- part:${name} -->`);
      explained += gas;
    }
    expect(explained).to.be.at.least((report.gas[DEAL_IN_PLAIN_TOKEN] ?? 0) - EXPLAINED_ABOVE);
  });

  it("leaves every contract within the limit of code size, and the deployment within that of creation code", () => {
    const { [DEPLOYMENT]: creation = Infinity, ...deployed } = report.codeBytes;
    for (const bytes of Object.values(deployed)) expect(bytes).to.be.at.most(CODE_SIZE_LIMIT);
    expect(creation).to.be.at.most(CREATION_CODE_LIMIT - ARGUMENTS);
  });
});
