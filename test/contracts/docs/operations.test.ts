import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";

import { expect } from "chai";
import hre from "hardhat";

import { CONTRACTS, type ContractName, documentedViews, type Page, readPages, section } from "./operation-pages.ts";

/** What of an ABI's entry is read here. */
interface AbiEntry {
  type: string;
  name?: string;
  stateMutability?: string;
  inputs?: { name: string; internalType: string }[];
}

const VIEWS = "views";
/** Tests that try the same on several functions, each named by a `name: "…"`, and the errors that they expect of all. */
const SHARED_TESTS: [test: string, errors: string[]][] = [
  ["moves-matrix", ["EscrowNotFound", "EscrowNotInState"]],
  ["low-gas", ["InsufficientGas"]],
];
/** Errors that every operation may end in. */
const COMMON = "README";

describe("Pages of the operations", () => {
  const pages = readPages();
  const operations = [...pages.values()].filter(({ functions }) => functions.length > 0);
  const abis = new Map<ContractName, AbiEntry[]>();

  const pageOf = (name: string): Page => {
    const page = pages.get(name);
    if (page === undefined) throw new Error(`docs/operations/${name}.md is missing`);
    return page;
  };
  const pagesOf = (contract: ContractName): Page[] => [
    ...operations.filter(({ functions }) => functions.some((declared) => declared.contract === contract)),
    pageOf(COMMON),
  ];
  const pageOfFunction = (name: string): Page | undefined =>
    operations.find(({ functions }) => functions.some(({ signature }) => signature.startsWith(`${name}(`)));
  const entries = (contract: ContractName, type: string): AbiEntry[] =>
    (abis.get(contract) ?? []).filter((entry) => entry.type === type);

  before("read the ABIs", async () => {
    for (const [contract, artifact] of Object.entries(CONTRACTS)) {
      abis.set(contract as ContractName, (await hre.artifacts.readArtifact(artifact)).abi as AbiEntry[]);
    }
  });

  for (const contract of Object.keys(CONTRACTS) as ContractName[]) {
    describe(`of the ${contract} contract`, () => {
      it("declare each function that changes state once, as the contract has it, and no other", () => {
        const declared = operations.flatMap(({ functions }) =>
          functions.filter((found) => found.contract === contract).map(({ signature }) => signature),
        );
        const actual = entries(contract, "function").filter((entry) => !isView(entry));
        expect(declared.sort()).to.deep.equal(actual.map((entry) => signatureOf(entry, true)).sort());
      });

      it("explain each view once, and no other", () => {
        const explained = documentedViews(pageOf(VIEWS)).filter((found) => found.contract === contract);
        const actual = entries(contract, "function").filter(isView);
        expect(explained.map(({ signature }) => signature).sort()).to.deep.equal(
          actual.map((entry) => signatureOf(entry)).sort(),
        );
      });

      it("name each of its errors with its arguments in a table of errors, on a page of one of its functions", () => {
        const named = pagesOf(contract)
          .flatMap(({ errors }) => errors)
          .filter(({ of }) => of === undefined || of.split(", ").includes(contract))
          .map(({ signature }) => signature);
        const actual = entries(contract, "error").map((entry) => signatureOf(entry));
        expect(actual.filter((signature) => !named.includes(signature))).to.deep.equal([]);
      });

      it("name each of its events", () => {
        const named = [...pagesOf(contract).map(({ text }) => section(text, "Events")), pageOf(VIEWS).text].join("\n");
        const actual = entries(contract, "event").map(({ name = "" }) => name);
        expect(actual.filter((name) => !new RegExp(`\`${name}[\`(]`).test(named))).to.deep.equal([]);
      });
    });
  }

  it("name no error that no contract has", () => {
    const actual = [...abis.keys()].flatMap((contract) =>
      entries(contract, "error").map((entry) => signatureOf(entry)),
    );
    for (const { name, errors } of pages.values()) {
      const unknown = errors.map(({ signature }) => signature).filter((signature) => !actual.includes(signature));
      expect(unknown, name).to.deep.equal([]);
    }
  });

  for (const { name, text, functions } of operations) {
    it(`say for ${name} who, when, the state, what moves, events, errors and measured gas`, () => {
      for (const row of ["Who", "When", "State", "Gas"]) {
        expect(text.match(new RegExp(`^\\| ${row} \\| [^|]+ \\|$`, "gm")), row).to.have.length(1);
      }
      for (const heading of ["What moves", "Events", "Errors"]) {
        expect(section(text, heading).split("\n").slice(2).join("").trim(), heading).not.to.equal("");
      }
      for (const { signature } of functions) {
        const [called = ""] = signature.split("(");
        if (called === INTERNAL) continue;
        expect(text, `gas of ${called}`).to.match(
          new RegExp(`<!-- gas:${called}(?: \\([^)]*\\))? -->[\\d,]+<!-- /gas -->`),
        );
      }
    });
  }

  for (const [test, errors] of SHARED_TESTS) {
    it(`have ${errors.join(" and ")} for each function of the tests ${test}`, () => {
      const source = readFileSync(`test/contracts/unit/escrow/${test}.test.ts`, "utf8");
      const tried = [...source.matchAll(/ name: "(\w+)"/g)].map(([, name = ""]) => name);
      const functions = tried.filter((name) => pageOfFunction(name) !== undefined);
      expect(functions).to.include("accept");
      for (const name of functions) {
        const named = pageOfFunction(name)?.errors.map(({ signature }) => signature.split("(")[0]);
        expect(named, name).to.include.members(errors);
      }
    });
  }

  it("have every error that the tests of a function expect of it", () => {
    const known = new Set([...abis.keys()].flatMap((contract) => entries(contract, "error").map(({ name }) => name)));
    let compared = 0;
    for (const file of globSync("test/contracts/unit/{escrow,resolver,score}/*.test.ts").sort()) {
      const tested = basename(file, ".test.ts");
      const page = operations.find(({ functions }) =>
        functions.some(({ signature }) => signature.startsWith(`${tested}(`)),
      );
      if (page === undefined) continue;
      const named = [...page.errors, ...pageOf(COMMON).errors].map(({ signature }) => signature.split("(")[0]);
      const literals = [...readFileSync(file, "utf8").matchAll(/"(\w+)"/g)].map(([, literal]) => literal);
      const expected = [...new Set(literals)].filter((literal) => known.has(literal));
      expect(
        expected.filter((error) => !named.includes(error)),
        `${file} against ${page.name}.md`,
      ).to.deep.equal([]);
      compared += 1;
    }
    expect(compared).to.be.at.least(16);
  });
});

/** Only the resolver contract may call it, so its gas is part of that of the rulings. */
const INTERNAL = "resolve";

function isView({ stateMutability }: AbiEntry): boolean {
  return stateMutability === "view" || stateMutability === "pure";
}

/** As the pages write it: `withdraw(address token)` with types, `creditOf(recipient, token)` without. */
function signatureOf({ name = "", inputs = [] }: AbiEntry, withTypes = false): string {
  const parameters = inputs.map((input) =>
    withTypes ? `${input.internalType.replace(/^(?:struct|enum|contract) /, "")} ${input.name}` : input.name,
  );
  return `${name}(${parameters.join(", ")})`;
}
