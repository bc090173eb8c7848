// The check of the repository's pages (scripts/quality/docs).
import { readFileSync } from "node:fs";

import { assert } from "chai";

import { findProblems } from "../../../scripts/quality/docs/page-rules.ts";
import type { Page } from "../../../scripts/quality/docs/page-rules.ts";

const words = (count: number) => Array.from({ length: count }, () => "it").join(" ");
const linesOf = (count: number) => "A line.\n".repeat(count);
const problems = (text: string, page: Partial<Page> = {}) =>
  findProblems([{ path: "docs/page.md", text, ...page }], (path) =>
    ["docs/page.md", "api", "docs/picture.svg"].includes(path),
  );

describe("the check of the pages", () => {
  it("limits the README to 120 lines, and every other page to 200", () => {
    assert.deepEqual(problems(linesOf(120), { path: "README.md" }), []);
    assert.deepEqual(problems(linesOf(121), { path: "README.md" }), ["README.md:1: 121 lines, at most 120"]);
    assert.deepEqual(problems(linesOf(200)), []);
    assert.deepEqual(problems(linesOf(201)), ["docs/page.md:1: 201 lines, at most 200"]);
    assert.deepEqual(problems(linesOf(201), { isLong: true }), []);
    assert.deepEqual(problems(linesOf(201), { isGenerated: true }), []);
  });

  it("limits lines to 160 characters, but not in tables and blocks of code", () => {
    const long = "x".repeat(161);
    assert.deepEqual(problems(`Text\n${long}\n`), ["docs/page.md:2: a line of 161 characters, at most 160"]);
    assert.deepEqual(problems("x".repeat(160)), []);
    assert.deepEqual(problems(`| a |\n|---|\n| ${long} |\n\n\`\`\`sh\n${long}\n\`\`\`\n\n    ${long}\n`), []);
    assert.deepEqual(problems(long, { isGenerated: true }), []);
  });

  it("limits sentences to 25 words, but not in tables and blocks of code", () => {
    assert.deepEqual(problems(`${words(25)}.`), []);
    const [problem, ...others] = problems(`# T\n\n- ${words(13)}\n  ${words(13)}.\n`);
    assert.match(problem ?? "", /^docs\/page\.md:3: 26 words, at most 25: "it/);
    assert.isEmpty(others);
    assert.deepEqual(problems(`| ${words(26)} |\n|---|\n| ${words(26)} |\n\n\`\`\`\n${words(26)}\n\`\`\`\n`), []);
    assert.deepEqual(problems(`${words(20)}. And ${words(20)}.`), []);
  });

  it("counts a word of code as one, which may begin a sentence, and no comment", () => {
    assert.deepEqual(problems(`\`${words(30)}\` ${words(20)}.`), []);
    assert.deepEqual(problems(`${words(20)}. \`code\` ${words(20)}.`), []);
    assert.deepEqual(problems(`${words(24)} <!-- gas:one two three -->12<!-- /gas -->.`), []);
    assert.isNotEmpty(problems(`\`code\` ${words(25)}.`));
  });

  it("finds a link to a file or a heading that isn't there", () => {
    const nowhere = (link: string) => [`docs/page.md:1: the link ${link} leads nowhere`];
    for (const link of ["other.md", "../apis", "#absent", "page.md#absent"]) {
      assert.deepEqual(problems(`[x](${link})`), nowhere(link), link);
    }
    assert.deepEqual(problems("![x](absent.svg)"), nowhere("absent.svg"));
    assert.deepEqual(problems("[x](other.md)", { isGenerated: true }), nowhere("other.md"));
    const found = [
      "page.md",
      "../api/",
      "#the-n-th-two",
      "page.md#the-n-th-two-1",
      "https://example.test/x",
      "mailto:a@b.test",
    ];
    const headings = "\n\n# The `n`-th: two\n\n## The n-th two\n";
    for (const link of found) assert.deepEqual(problems(`[x](${link})${headings}`), [], link);
    assert.deepEqual(problems("![x](picture.svg)"), []);
  });

  it("every line of the README's sample stands in the program of the SDK, which a test runs", () => {
    const [, sample = ""] = /## With the SDK\n\n```js\n([\s\S]*?)```/.exec(readFileSync("README.md", "utf8")) ?? [];
    const program = readFileSync("sdk/README.md", "utf8");
    assert.isNotEmpty(sample);
    for (const line of sample.trim().split("\n")) assert.include(program, line.trim());
  });

  it("finds a command or a link that looks for our packages in a registry", () => {
    const told = (line: string) => problems(`Text.\n\n\`\`\`sh\n${line}\n\`\`\`\n`);
    for (const command of [
      "npm install @agent-marketplace/sdk viem",
      "npm i viem @agent-marketplace/sdk",
      "pnpm add --save-exact @agent-marketplace/sdk",
      "yarn add @agent-marketplace/tools",
      "npm install -g agent-marketplace",
      "deno add npm:@agent-marketplace/sdk",
    ]) {
      assert.deepEqual(told(command), [
        "docs/page.md:4: installs our package from a registry, which doesn't have it: the service hands it out at /downloads",
      ]);
    }
    for (const command of [
      "npx agent-marketplace init",
      "npx --yes @agent-marketplace/cli mcp",
      "npx -p @agent-marketplace/sdk node",
      "npm exec agent-marketplace",
      "pnpm dlx @agent-marketplace/cli",
      "bunx agent-marketplace",
    ]) {
      assert.deepEqual(
        told(command),
        ["docs/page.md:4: runs our package from a registry, which doesn't have it"],
        command,
      );
    }
    assert.deepEqual(problems("[x](https://registry.example/package/@agent-marketplace/sdk)"), [
      "docs/page.md:1: leads to a registry, which doesn't have our package",
    ]);
    assert.isNotEmpty(problems("npx agent-marketplace", { isGenerated: true }));
    for (const fine of [
      "npm install http://127.0.0.1:3000/downloads/sdk.tgz viem",
      "npm install ./agent-marketplace-sdk.tgz",
      "npm install ../agent-marketplace/sdk",
      "npx hardhat build # in the folder of agent-marketplace-api",
      'import { Marketplace } from "@agent-marketplace/sdk";',
      "agent-marketplace mcp",
      "npm start, then use `@agent-marketplace/sdk`",
    ]) {
      assert.deepEqual(told(fine), [], fine);
    }
  });
});
