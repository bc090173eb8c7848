import { assert } from "chai";

import { assertError, assertInvalid, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";

/** Section 2.1 of the specification: fact, parent, label, children. */
const PARENTS: readonly [fact: string, slug: string, label: string, children: readonly string[]][] = [
  ["S2.1.08", "defi", "DeFAI & Economic", ["trading", "onchain_intelligence", "yield_management", "risk_assessment"]],
  [
    "S2.1.09",
    "operations",
    "Operational & Business",
    ["financial_ops", "accounting", "sys_automation", "legal_compliance", "hr_talent"],
  ],
  [
    "S2.1.10",
    "commerce",
    "A2A Commerce & Coordination",
    ["discovery", "negotiation", "quality_control", "resource_monetization"],
  ],
  [
    "S2.1.11",
    "development",
    "Development & Technical",
    ["engineering", "infrastructure", "documentation", "security_auditing"],
  ],
  [
    "S2.1.12",
    "content",
    "Social, Content & Creative",
    ["social_influence", "multimodal_generation", "community_management"],
  ],
  [
    "S2.1.13",
    "systems",
    "System & Physical Integration",
    ["system_privileges", "hardware_iot", "communication_gateways"],
  ],
  ["S2.1.14", "personal", "Personal & Lifestyle", ["executive_assistance", "b2c_commerce", "pkm"]],
  [
    "S2.1.15",
    "social_ai",
    "Relational & AI-Native Social",
    ["persona_grooming", "vibe_check", "context_wellness", "agentic_diplomacy", "agent_mentorship"],
  ],
  [
    "S2.1.16",
    "general",
    "General",
    [
      ...["research", "summarization", "coding", "data", "translation"],
      ...["booking", "monitoring", "analytics", "marketing", "other"],
    ],
  ],
];

interface ServedCategory {
  slug: string;
  label: string;
  children: { slug: string; label: string }[];
}

describe("categories", () => {
  let api: TestApi;
  let served: ServedCategory[];

  before(async () => {
    api = await startTestApi();
    const answer = await api.request("GET", "/api/v1/categories");
    assert.strictEqual(answer.status, 200);
    served = (answer.body as { categories: ServedCategory[] }).categories;
  });
  after(() => api.close());

  it("[S4.r01] are served without a key", async () => {
    assert.strictEqual((await api.request("GET", "/api/v1/categories")).status, 200);
  });

  it("[S4.r01.1] [S2.1.03] are parents with slug, label and children, which have only slug and label", () => {
    for (const parent of served) {
      assert.deepEqual(Object.keys(parent).sort(), ["children", "label", "slug"]);
      assert.ok(parent.children.length > 0);
      for (const child of parent.children) assert.deepEqual(Object.keys(child).sort(), ["label", "slug"]);
    }
  });

  it("[S2.1.01] [S2.1.02] have a slug and a label that aren't empty", () => {
    for (const { slug, label } of served.flatMap((parent) => [parent, ...parent.children])) {
      assert.match(slug, /^[a-z0-9_]+$/);
      assert.match(label, /\S/);
    }
  });

  it("[S2.1.07] have exactly nine parents", () => {
    assert.deepEqual(
      served.map(({ slug }) => slug),
      PARENTS.map(([, slug]) => slug),
    );
  });

  for (const [fact, slug, label, children] of PARENTS) {
    it(`[${fact}] have under ${slug}, "${label}", exactly its children`, () => {
      const parent = served.find((candidate) => candidate.slug === slug);
      assert.strictEqual(parent?.label, label);
      assert.deepEqual(
        parent?.children.map((child) => child.slug),
        children,
      );
    });
  }

  it("are the same under /v1", async () => {
    const answer = await api.request("GET", "/v1/categories");
    assert.deepEqual(answer.body, { categories: served });
  });

  it("[S2.1.06] accept every child as the category of a service", async () => {
    const { apiKey } = await api.registerAgent();
    for (const { slug } of served.flatMap(({ children }) => children)) {
      const answer = await api.request("POST", "/api/v1/services", {
        key: apiKey,
        body: listingBody({ category: slug }),
      });
      assert.strictEqual(answer.status, 201, `${slug}: ${answer.text}`);
      assert.strictEqual(answer.body.data.category, slug);
    }
  });

  it("[S2.1.04] refuse every parent as the category of a service", async () => {
    const { apiKey } = await api.registerAgent();
    for (const { slug } of served) {
      const answer = await api.request("POST", "/api/v1/services", {
        key: apiKey,
        body: listingBody({ category: slug }),
      });
      assertInvalid(answer, "body.category");
    }
  });

  it("[S2.1.05] refuse a slug outside the taxonomy", async () => {
    const { apiKey } = await api.registerAgent();
    for (const category of ["cooking", "", "Trading", "defi.trading", "__proto__", 7, null]) {
      const answer = await api.request("POST", "/api/v1/services", { key: apiKey, body: listingBody({ category }) });
      assertInvalid(answer, "body.category");
    }
  });

  it("answer another method with 405 and an unknown query field with 400", async () => {
    const wrongMethod = await api.request("POST", "/api/v1/categories", { body: {} });
    assertError(wrongMethod, 405, "method_not_allowed");
    assert.match(wrongMethod.headers.get("allow") ?? "", /\bGET\b/);
    assertInvalid(await api.request("GET", "/api/v1/categories?lang=de"), "query.lang");
  });
});
