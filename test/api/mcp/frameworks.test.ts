// The examples of docs/api/mcp-python.md, with a model that follows a script.
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { assert } from "chai";

import { installPythonTools } from "../../../scripts/testing/python-tools.ts";
import { toolsFor } from "../../../tools/src/index.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { openMarket } from "../../fixtures/deals.ts";
import { outputOf } from "../../fixtures/output-of.ts";
import { exampleOf } from "../../fixtures/page-example.ts";
import { openChain } from "../../fixtures/stack.ts";
import { startToolCallingModel } from "../../fixtures/tool-calling-model.ts";
import type { ModelTurn, SeenTurn } from "../../fixtures/tool-calling-model.ts";

const ROOM = fileURLToPath(new URL("./frameworks", import.meta.url));
const VENV = resolve(".local", "mcp-frameworks", "venv");
const PAGE = "docs/api/mcp-python.md";
const LIMIT_MS = 240_000;

describe("Python frameworks with the hosted tools (need Python 3.10, venv and pip)", function () {
  this.timeout(LIMIT_MS * 2);
  let api: TestApi;

  before(async function () {
    try {
      await installPythonTools(VENV, join(ROOM, "requirements.txt"), () => {
        console.log(`Installing LangChain and OpenAI's agents into ${VENV} …`);
      });
    } catch (error) {
      console.log(`skipped: the Python packages can't be installed: ${(error as Error).message}`);
      this.skip();
    }
    api = await startTestApi();
  });
  after(async () => {
    // Nothing was started where the packages can't be installed.
    await (api as TestApi | undefined)?.close();
  });

  for (const name of ["langchain.py", "openai-agents.py"]) {
    it(`search and prepare a purchase by the example ${name}`, async () => {
      const { buyer, serviceId } = await openMarket(api, await openChain("base-sepolia"));
      const script: ((turn: SeenTurn) => ModelTurn)[] = [
        () => ({ call: "get_service", arguments: { serviceId } }),
        () => ({ call: "hire", arguments: { intentId: "one", serviceId, maxPrice: "5", waitSeconds: 0 } }),
        ({ results }) => ({ say: String(results.at(-1)) }),
      ];
      const model = await startToolCallingModel((turn) => {
        const step = script[turn.results.length];
        assert.ok(step);
        return step(turn);
      });
      try {
        const env = {
          ...process.env,
          MARKETPLACE_URL: api.url,
          MARKETPLACE_KEY: buyer.apiKey,
          MODEL: "scripted",
          OPENAI_API_KEY: "none",
          OPENAI_BASE_URL: model.baseUrl,
        };
        const python = join(VENV, "bin", "python");
        const printed = await outputOf(python, ["-c", exampleOf(PAGE, name)], "", { timeoutMs: LIMIT_MS, env });
        const answer = JSON.parse(printed) as { result: string; signature: { calls: unknown[] } };
        assert.strictEqual(answer.result, "signature_required");
        assert.lengthOf(answer.signature.calls, 2);
        assert.deepEqual(
          model.seen[0]?.tools,
          toolsFor("mcp").map((tool) => tool["name"]),
        );
        assert.notInclude(JSON.stringify(model.seen), buyer.apiKey);
      } finally {
        model.close();
      }
    });
  }
});
