import { readFileSync } from "node:fs";

import { assert } from "chai";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";

import { TOOLS, toolsFor } from "../../tools/src/index.ts";

const NAMES = [
  "search_services",
  "get_service",
  "hire",
  "list_deals",
  "get_deal",
  "review_delivery",
  "accept",
  "dispute",
  "reclaim",
  "my_jobs",
  "deliver",
  "decline",
  "send_message",
  "read_messages",
  "remember",
  "recall",
  "offer_service",
];
const MAX_TOKENS = 4_000;
const MAX_WORDS = 60;

describe("the catalogue of tools", () => {
  it("has every tool in a fixed order", () => {
    assert.deepEqual(
      TOOLS.map(({ name }) => name),
      NAMES,
    );
    assert.strictEqual(JSON.stringify(toolsFor("mcp")), JSON.stringify(toolsFor("mcp")));
  });

  it("takes at most 4,000 tokens of a model's context as tools/list", () => {
    const tokens = countTokens(JSON.stringify({ tools: toolsFor("mcp") }));
    assert.isAtMost(tokens, MAX_TOKENS);
  });

  for (const { name, title, description, hints, input } of TOOLS) {
    it(`describes ${name} in at most 60 words, and asks for an intentId unless it only reads`, () => {
      assert.isAtMost(description.split(/\s+/).length, MAX_WORDS);
      assert.isNotEmpty(title);
      assert.strictEqual("intentId" in input.shape, !hints.readOnly);
      assert.isFalse(hints.readOnly && hints.spendsMoney);
    });
  }

  it("is exported for OpenAI, Anthropic and MCP with the same schemas", () => {
    const openai = toolsFor("openai").map((tool) => tool["function"] as Record<string, unknown>);
    const anthropic = toolsFor("anthropic");
    for (const [index, tool] of toolsFor("mcp").entries()) {
      assert.deepEqual(openai[index]?.["parameters"], tool["inputSchema"]);
      assert.deepEqual(anthropic[index]?.["input_schema"], tool["inputSchema"]);
      const { type, additionalProperties } = tool["inputSchema"] as Record<string, unknown>;
      assert.deepEqual([type, additionalProperties], ["object", false]);
      assert.strictEqual((tool["outputSchema"] as Record<string, unknown>)["type"], "object");
    }
  });

  it("has no key, seed or signature among its arguments", () => {
    const names = TOOLS.flatMap(({ input }) => Object.keys(input.shape));
    assert.deepEqual(
      names.filter((name) => /private|secret|seed|mnemonic|password|apiKey|signature/i.test(name)),
      [],
    );
  });

  it("is listed in docs/api/tools.md as it is", () => {
    const page = readFileSync("docs/api/tools.md", "utf8");
    const rows = TOOLS.map(({ name, hints }) => {
      const effect = hints.spendsMoney ? "moves money" : hints.readOnly ? "reads" : "writes";
      return `| \`${name}\` | ${effect} |`;
    });
    const found = [...page.matchAll(/^(\| `\w+` \| (?:reads|writes|moves money) \|)/gm)].map(([, row]) => row);
    assert.deepEqual(found, rows);
  });
});
