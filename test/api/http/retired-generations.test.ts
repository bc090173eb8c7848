import { assertInvalid, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { registrationBody } from "../../fixtures/sign-in.ts";

/** How a caller of the retired referral platform would name the referrer and the merchant. */
const FIELDS = ["referrer", "referrerId", "referralCode", "merchant", "merchantId"];

describe("the API after its retired generations", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi({ search: true });
  });
  after(() => api.close());

  it("[S9.08] accepts no merchant and no referrer at registration, listing, search and checkout", async () => {
    const { apiKey: key } = await api.registerAgent();
    const { body: registration } = await registrationBody();
    for (const field of FIELDS) {
      for (const [path, body] of [
        ["/api/v1/auth/register", registration],
        ["/api/v1/services", listingBody()],
        ["/api/v1/discover", { query: "anything" }],
        ["/api/v1/checkout", { serviceId: "svc_1", paymentMethod: "usdc" }],
      ] as const) {
        assertInvalid(await api.request("POST", path, { key, body: { ...body, [field]: "agt_1" } }), `body.${field}`);
      }
    }
  });
});
