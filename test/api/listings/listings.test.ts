import { assert } from "chai";

import { assertError, assertInvalid, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { SERVICES_PATH, serviceCalls } from "../../fixtures/services.ts";

describe("services", () => {
  let api: TestApi;
  let seller: TestAgent;
  let other: TestAgent;

  before(async () => {
    api = await startTestApi();
    seller = await api.registerAgent({ agentName: "Seller" });
    other = await api.registerAgent({ agentName: "Other" });
  });
  after(() => api.close());

  const { post, patch, read, archive, list, create } = serviceCalls(() => ({ api, seller }));

  describe("creation", () => {
    it("[S4.r02] [S2.2.26] [S2.2.19] answers the listing with an id, as the caller's", async () => {
      const answer = await post(listingBody());
      assert.strictEqual(answer.status, 201);
      assert.strictEqual(answer.body.success, true);
      const { id, title, category, price, priceUnit, currency, deliveryType, status } = answer.body.data;
      assert.strictEqual(typeof id, "string");
      assert.deepEqual(
        { title, category, price, priceUnit, currency, deliveryType, status },
        {
          title: "Invoice reconciliation",
          category: "accounting",
          price: 2.5,
          priceUnit: "per_request",
          currency: "USDC",
          deliveryType: "webhook",
          status: "active",
        },
      );
      assert.strictEqual(answer.body.data.sellerAgentId, seller.agentId);
      assert.strictEqual(answer.body.data.sellerAddress, seller.walletAddress);
    });

    it("[S3.3.01] creates an active listing", async () => {
      assert.strictEqual((await post(listingBody())).body.data.status, "active");
    });

    it("[S2.2.11] [S2.2.13] [S2.2.15] [D3] fills in USDC, webhook, callbackRequired true and base-sepolia", async () => {
      const { currency, deliveryType, callbackRequired, network, endpointUrl } = (await post(listingBody())).body.data;
      assert.deepEqual(
        { currency, deliveryType, callbackRequired, network, endpointUrl },
        {
          currency: "USDC",
          deliveryType: "webhook",
          callbackRequired: true,
          network: "base-sepolia",
          endpointUrl: null,
        },
      );
    });

    it("[S1.18] [S1.08] accepts the settlement network base-sepolia or base and nothing else", async () => {
      for (const network of ["base-sepolia", "base"]) {
        assert.strictEqual((await post(listingBody({ network }))).body.data.network, network);
      }
      for (const network of ["polygon", "mainnet", "BASE", "", 8_453, null]) {
        assertInvalid(await post(listingBody({ network })), "body.network");
      }
    });

    it("[D24] needs only the five required fields", async () => {
      assert.strictEqual((await post(listingBody())).status, 201);
    });

    const requiredFields: [string, string][] = [
      ["S2.2.01", "title"],
      ["S2.2.03", "description"],
      ["S2.2.05", "category"],
      ["S2.2.06", "price"],
      ["S2.2.09", "priceUnit"],
    ];
    for (const [fact, field] of requiredFields) {
      it(`[${fact}] requires ${field} and its type`, async () => {
        assertInvalid(await post(listingBody({ [field]: undefined })), `body.${field}`);
        for (const value of [null, true, [], {}]) {
          assertInvalid(await post(listingBody({ [field]: value })), `body.${field}`);
        }
      });
    }

    it("requires strings for texts and a number for the price", async () => {
      assertInvalid(
        await post(listingBody({ title: 5, description: 5, price: "5" })),
        "body.title",
        "body.description",
        "body.price",
      );
    });

    it("[D33] names every missing field at once", async () => {
      assertInvalid(await post({}), "body.title", "body.description", "body.category", "body.price", "body.priceUnit");
    });

    it("[S2.2.02] accepts a title of 100 characters and refuses one of 101", async () => {
      assert.strictEqual((await post(listingBody({ title: "t".repeat(100) }))).status, 201);
      assert.strictEqual((await post(listingBody({ title: "😀".repeat(100) }))).status, 201);
      assertInvalid(await post(listingBody({ title: "t".repeat(101) })), "body.title");
    });

    it("[S2.2.04] accepts a description of 2000 characters and refuses one of 2001", async () => {
      assert.strictEqual((await post(listingBody({ description: "d".repeat(2_000) }))).status, 201);
      assertInvalid(await post(listingBody({ description: "d".repeat(2_001) })), "body.description");
    });

    it("refuses blank texts and control characters", async () => {
      assertInvalid(await post(listingBody({ title: " ", description: "\n" })), "body.title", "body.description");
      assertInvalid(await post(listingBody({ title: "two\nlines" })), "body.title");
      assertInvalid(await post(listingBody({ description: "null\u0000" })), "body.description");
    });

    it("[S2.2.07] refuses a price of 0 and a negative one", async () => {
      for (const price of [0, -0, -1, -0.000001]) assertInvalid(await post(listingBody({ price })), "body.price");
    });

    it("keeps prices exact and refuses more decimal places than the currency's token has", async () => {
      for (const price of [0.000001, 0.1, 123_456_789.123456, 1_000_000_000]) {
        assert.strictEqual((await read(await create({ price }))).body.data.price, price);
      }
      assert.strictEqual((await read(await create({ price: 1e-18, currency: "ETH" }))).body.data.price, 1e-18);
      for (const [price, currency] of [
        [0.0000001, "USDC"],
        [0.1 + 0.2, "USD"],
        [1e-19, "ETH"],
        [1_000_000_001, "USDC"],
        [1e300, "POL"],
        [0.1234567890123456, "ETH"],
      ]) {
        assertInvalid(await post(listingBody({ price, currency })), "body.price");
      }
    });

    it("[S2.2.10] accepts each listed price unit and refuses others", async () => {
      for (const priceUnit of ["per_request", "per_document", "per_hour", "per_output", "flat"]) {
        assert.strictEqual((await post(listingBody({ priceUnit }))).body.data.priceUnit, priceUnit);
      }
      assertInvalid(await post(listingBody({ priceUnit: "per_day" })), "body.priceUnit");
    });

    it("[S2.2.12] accepts each listed currency and refuses others", async () => {
      for (const currency of ["USDC", "USD", "ETH", "POL"]) {
        assert.strictEqual((await post(listingBody({ currency }))).body.data.currency, currency);
      }
      for (const currency of ["EUR", "usdc", ""]) assertInvalid(await post(listingBody({ currency })), "body.currency");
    });

    it("[S2.2.14] accepts each listed delivery type and refuses others", async () => {
      for (const deliveryType of ["webhook", "api_response", "async"]) {
        assert.strictEqual((await post(listingBody({ deliveryType }))).body.data.deliveryType, deliveryType);
      }
      assertInvalid(await post(listingBody({ deliveryType: "email" })), "body.deliveryType");
    });

    it("accepts only a boolean as callbackRequired", async () => {
      assert.strictEqual((await post(listingBody({ callbackRequired: false }))).body.data.callbackRequired, false);
      for (const callbackRequired of ["false", 0, null]) {
        assertInvalid(await post(listingBody({ callbackRequired })), "body.callbackRequired");
      }
    });

    it("[S2.2.16] accepts an endpointUrl that is a web address and refuses other texts", async () => {
      const endpointUrl = "https://seller.example/jobs?x=1";
      assert.strictEqual((await post(listingBody({ endpointUrl }))).body.data.endpointUrl, endpointUrl);
      const wrong = ["seller", "ftp://x.example/", "javascript:alert(1)", "http://", "https://u:p@x.example/", "", 7];
      for (const url of wrong) assertInvalid(await post(listingBody({ endpointUrl: url })), "body.endpointUrl");
      assertInvalid(
        await post(listingBody({ endpointUrl: `https://x.example/${"x".repeat(2_100)}` })),
        "body.endpointUrl",
      );
    });

    it("[S2.2.18] [S2.2.19] [D24] refuses status, id and every unknown field", async () => {
      for (const field of ["status", "id", "sellerAgentId", "createdAt", "__v", "$set", "constructor"]) {
        assertInvalid(await post(listingBody({ [field]: "active" })), `body.${field}`);
      }
    });

    it("[D39] accepts an address on a private host, because the check runs before each send", async () => {
      assert.strictEqual((await post(listingBody({ endpointUrl: "http://10.0.0.1/hook" }))).status, 201);
    });
  });

  describe("reading", () => {
    it("[S4.r04] returns one service to any agent with a key", async () => {
      const id = await create({ title: "Readable" });
      for (const key of [seller.apiKey, other.apiKey]) {
        const answer = await read(id, key);
        assert.deepEqual([answer.status, answer.body.data.id, answer.body.data.title], [200, id, "Readable"]);
      }
    });

    it("shows the endpointUrl only to the seller", async () => {
      const id = await create({ endpointUrl: "https://seller.example/private" });
      assert.strictEqual((await read(id)).body.data.endpointUrl, "https://seller.example/private");
      const seen = await read(id, other.apiKey);
      assert.ok(!seen.text.includes("seller.example"), seen.text);
      assert.ok(!(await list(`sellerId=${seller.agentId}&limit=100`, other.apiKey)).text.includes("seller.example"));
    });

    it("answers 404 for an unknown id", async () => {
      for (const id of ["lst_00000000000000000000000000000000", "x", "%24gt", "..%2fagents"]) {
        assertError(await read(id), 404, "not_found");
        assertError(await patch(id, { price: 1 }), 404, "not_found");
        assertError(await archive(id), 404, "not_found");
      }
    });
  });

  describe("change", () => {
    it("[S4.r05] [S4.r05.1] changes single fields: price, description, status", async () => {
      const id = await create();
      for (const change of [{ price: 9.75 }, { description: "Something else entirely." }, { status: "paused" }]) {
        const before = (await read(id)).body.data;
        const answer = await patch(id, change);
        const { updatedAt } = answer.body.data;
        assert.deepEqual([answer.status, answer.body.data], [200, { ...before, ...change, updatedAt }]);
        assert.deepEqual((await read(id)).body.data, answer.body.data);
      }
    });

    it("changes every writable field", async () => {
      const id = await create();
      const change = {
        title: "New title",
        description: "New description",
        category: "trading",
        price: 0.5,
        priceUnit: "flat",
        currency: "ETH",
        deliveryType: "async",
        callbackRequired: false,
        endpointUrl: "https://new.example/",
        network: "base",
        status: "paused",
      };
      const { data } = (await patch(id, change)).body;
      for (const [field, value] of Object.entries(change)) assert.strictEqual(data[field], value, field);
      assert.strictEqual((await patch(id, { endpointUrl: null })).body.data.endpointUrl, null);
    });

    it("[S3.3.02] [S3.3.05] pauses an active listing and activates it again", async () => {
      const id = await create();
      assert.strictEqual((await patch(id, { status: "paused" })).body.data.status, "paused");
      assert.strictEqual((await patch(id, { status: "paused" })).status, 200);
      assert.strictEqual((await patch(id, { status: "active" })).body.data.status, "active");
    });

    it("[S3.3.09] [S3.3.10] accepts no other status: archived, inactive and unknown ones are validation errors", async () => {
      const id = await create();
      for (const status of ["archived", "inactive", "deleted", "", null, 1]) {
        assertInvalid(await patch(id, { status }), "body.status");
      }
      assert.strictEqual((await read(id)).body.data.status, "active");
    });

    it("refuses empty and invalid changes, and changes nothing", async () => {
      const id = await create();
      const before = (await read(id)).body.data;
      assertError(await patch(id, {}), 400, "validation_error");
      const wrong: [Record<string, unknown>, string][] = [
        [{ title: "x".repeat(101) }, "body.title"],
        [{ description: "" }, "body.description"],
        [{ category: "defi" }, "body.category"],
        [{ price: 0 }, "body.price"],
        [{ price: 0.0000001 }, "body.price"],
        [{ priceUnit: "weekly" }, "body.priceUnit"],
        [{ endpointUrl: "nowhere" }, "body.endpointUrl"],
        [{ sellerAgentId: other.agentId }, "body.sellerAgentId"],
        [{ id: "lst_x" }, "body.id"],
        [{ price: { $inc: 1 } }, "body.price"],
      ];
      for (const [change, path] of wrong) assertInvalid(await patch(id, { title: "Changed", ...change }), path);
      assert.deepEqual((await read(id)).body.data, before);
    });

    it("refuses a currency whose token can't represent the current price", async () => {
      const id = await create({ price: 0.0000000001, currency: "ETH" });
      assertInvalid(await patch(id, { currency: "USDC" }), "body.currency");
      assert.strictEqual((await patch(id, { currency: "USDC", price: 1 })).body.data.currency, "USDC");
    });

    it("simultaneous changes of different fields are all kept", async () => {
      const id = await create();
      const changes = [
        { price: 77 },
        { title: "Raced title" },
        { priceUnit: "per_hour" },
        { description: "Raced text" },
      ];
      const answers = await Promise.all(changes.map((change) => patch(id, change)));
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200, 200, 200],
      );
      const { data } = (await read(id)).body;
      for (const change of changes) assert.deepEqual({ ...data, ...change }, data);
    });
  });

  describe("archiving", () => {
    it("[S4.r06] [S3.3.06] DELETE archives an active listing", async () => {
      const id = await create();
      assert.strictEqual((await archive(id)).body.data.status, "archived");
      assert.strictEqual((await read(id)).body.data.status, "archived");
    });

    it("[S3.3.07] DELETE archives a paused listing", async () => {
      const id = await create();
      await patch(id, { status: "paused" });
      assert.strictEqual((await archive(id)).body.data.status, "archived");
    });

    it("[S2.2.17] every answer has one of the statuses active, paused and archived, and no other is documented", async () => {
      const created = await post(listingBody());
      const { id } = created.body.data;
      const given = async (change: Answer) => {
        const listed = (await list(`sellerId=${seller.agentId}&limit=100`)).body.data as {
          id: string;
          status: string;
        }[];
        assert.ok(listed.every(({ status }) => ["active", "paused", "archived"].includes(status)));
        const shown = listed.find((entry) => entry.id === id)?.status;
        return [change.body.data.status, (await read(id)).body.data.status, shown];
      };
      assert.deepEqual(await given(created), ["active", "active", "active"]);
      assert.deepEqual(await given(await patch(id, { status: "paused" })), ["paused", "paused", "paused"]);
      assert.deepEqual(await given(await archive(id)), ["archived", "archived", "archived"]);
      const { schemas } = (await api.request("GET", "/openapi.json")).body.components;
      assert.deepEqual(schemas.Service.properties.status.enum, ["active", "paused", "archived"]);
      assert.ok(schemas.Service.required.includes("status"));
    });

    it("[D24] an archived listing is final", async () => {
      const id = await create();
      await archive(id);
      assertError(await patch(id, { status: "active" }), 409, "service_archived");
      assertError(await patch(id, { price: 1 }), 409, "service_archived");
      assertError(await archive(id), 409, "service_archived");
    });
  });

  describe("security", () => {
    it("[D33] another agent can neither change nor archive a listing", async () => {
      const id = await create();
      const before = (await read(id)).body.data;
      assertError(await patch(id, { price: 0.01 }, other.apiKey), 403, "wrong_role");
      assertError(await archive(id, other.apiKey), 403, "wrong_role");
      assert.deepEqual((await read(id)).body.data, before);
    });

    it("[S7.01] every route of services answers 401 without a key", async () => {
      const id = await create();
      for (const [method, path] of [
        ["POST", SERVICES_PATH],
        ["GET", SERVICES_PATH],
        ["GET", `${SERVICES_PATH}/${id}`],
        ["PATCH", `${SERVICES_PATH}/${id}`],
        ["DELETE", `${SERVICES_PATH}/${id}`],
      ] as const) {
        const answer = await api.request(method, path);
        assertError(answer, 401, "invalid_api_key");
        assert.strictEqual(answer.body.error, "Invalid API key");
      }
    });
  });
});
