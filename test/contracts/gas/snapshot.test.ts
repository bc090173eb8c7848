import { expect } from "chai";
import hre from "hardhat";

import { type GasReport, measureGas, WHOLE_DEAL } from "../../bench/gas-measure.ts";
import { readSnapshot, stalePages } from "../../bench/gas-snapshot.ts";

const CODE_SIZE_LIMIT = 24_576;
const AIM = 270_000;

describe("gas of the operations", () => {
  let report: GasReport;

  before("measure behind the proxies with everything on", async function () {
    // Code that counts its own lines costs more and is larger.
    if (hre.globalOptions.coverage) this.skip();
    report = await measureGas();
  });

  it("is what test/bench/gas-snapshot.json says (if not: npm run bench:gas -- --write)", () => {
    expect(report).to.deep.equal(readSnapshot());
  });

  it("is what the pages in docs say (if not: npm run bench:gas -- --write)", () => {
    expect(stalePages(report)).to.deep.equal([]);
  });

  it("is at most 270,000 for create, deliver and accept", () => {
    expect(report.gas[WHOLE_DEAL]).to.be.at.most(AIM);
  });

  it("leaves every contract within the limit of code size", () => {
    for (const bytes of Object.values(report.codeBytes)) expect(bytes).to.be.at.most(CODE_SIZE_LIMIT);
  });
});
