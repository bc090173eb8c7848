// The quarantine as an operator reads it over HTTP. What a worker does with it is in quarantine.test.ts.
import { assert } from "chai";

import { ADMIN_KEY } from "../../../scripts/testing/admin-key.ts";
import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { AS_ADMIN } from "../../fixtures/environment.ts";
import { quarantinedEscrow } from "../../fixtures/quarantine.ts";

const QUARANTINE = "/api/v1/admin/quarantine";

/** A quarantined escrow as the API answers it. */
interface Quarantined {
  id: string;
  retryAt: string | null;
  [field: string]: unknown;
}

describe("the routes of the quarantine", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi({ env: { adminApiKey: ADMIN_KEY } });
  });
  after(() => api.close());

  async function list(query = ""): Promise<{ success: true; data: Quarantined[]; nextCursor: string | null }> {
    const answer = await api.request("GET", `${QUARANTINE}${query}`, AS_ADMIN);
    assert.strictEqual(answer.status, 200, answer.text);
    return answer.body;
  }

  it("list every escrow with its error, page by page", async () => {
    assert.deepEqual(await list(), { success: true, data: [], nextCursor: null });
    const made = [await quarantinedEscrow(api), await quarantinedEscrow(api), await quarantinedEscrow(api)];
    const ids = made.map(({ id }) => id).sort();
    const { data } = await list();
    assert.deepEqual(
      data.map(({ id }) => id),
      ids,
    );
    const [first] = data;
    assert.deepEqual(
      { ...first, at: "", retryAt: "" },
      {
        id: ids[0],
        network: "base-sepolia",
        escrowId: ids[0]?.slice("base-sepolia:".length),
        error: { name: "SyntaxError", message: "The stored request isn't JSON" },
        attempts: 3,
        at: "",
        retryAt: "",
      },
    );
    const page = await list("?limit=2");
    const rest = await list(`?limit=2&cursor=${page.nextCursor ?? ""}`);
    assert.deepEqual([page.data.length, rest.data.map(({ id }) => id), rest.nextCursor], [2, ids.slice(2), null]);
  });

  it("make an escrow due at once, however often they are asked", async () => {
    const { id } = await quarantinedEscrow(api);
    for (const time of ["first", "second"]) {
      const answer = await api.request("POST", `${QUARANTINE}/${encodeURIComponent(id)}`, { ...AS_ADMIN, body: {} });
      assert.deepEqual([answer.status, answer.body.data?.id, answer.body.data?.retryAt], [202, id, null], time);
    }
    const stored = await api.container.features.chainFollower.models.quarantine.findById(id).lean();
    // A worker takes what is due by its own clock, whatever that says.
    assert.deepEqual([stored?.retryAt.getTime(), stored?.attempts], [0, 3]);
    assert.strictEqual((await list("?limit=100")).data.find((one) => one.id === id)?.retryAt, null);
  });

  it("refuse what isn't in quarantine, other parameters, and everybody without the key", async () => {
    const unknown = `${QUARANTINE}/base:0x12`;
    assertError(await api.request("POST", unknown, { ...AS_ADMIN, body: {} }), 404, "not_found");
    assertInvalid(await api.request("GET", `${QUARANTINE}?limit=101`, AS_ADMIN), "query.limit");
    assertInvalid(await api.request("GET", `${QUARANTINE}?cursor=nonsense`, AS_ADMIN), "query.cursor");
    assertInvalid(await api.request("GET", `${QUARANTINE}?network=base`, AS_ADMIN), "query.network");
    assertError(await api.request("GET", QUARANTINE), 401, "invalid_api_key");
    const { apiKey } = await api.registerAgent();
    assertError(await api.request("POST", unknown, { key: apiKey, body: {} }), 401, "invalid_api_key");
  });
});
