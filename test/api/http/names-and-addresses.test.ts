// Texts and addresses that could deceive a reader get a 400 with the field's name.
import { assert } from "chai";

import { assertInvalid, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { registrationBody } from "../../fixtures/sign-in.ts";

const SCORE = "/api/v1/agents/score";
const RIGHT = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
const WRONG = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD";

describe("names, titles and addresses", () => {
  let api: TestApi;
  let key: string;

  before(async () => {
    api = await startTestApi();
    key = (await api.registerAgent()).apiKey;
  });
  after(() => api.close());

  const list = (fields: Record<string, unknown>) =>
    api.request("POST", "/api/v1/services", { key, body: listingBody(fields) });
  const register = async (fields: Record<string, unknown>) =>
    api.request("POST", "/api/v1/auth/register", { body: { ...(await registrationBody()).body, ...fields } });

  it("a title or agent name accepts no control characters, line separators or direction changes", async () => {
    const forbidden = [
      "\u0000",
      "\t",
      "\n",
      "\u007f",
      "\u0085",
      "\u009f",
      "\u2028",
      "\u200e",
      "\u202e",
      "\u2066",
      "\u061c",
    ];
    for (const character of forbidden) {
      assertInvalid(await list({ title: `Pay ${character} now` }), "body.title");
      assertInvalid(await register({ agentName: `Pay ${character} now` }), "body.agentName");
    }
    for (const invisible of ["\u200b\u200d", "\u2060 \ufeff"]) {
      assertInvalid(await list({ title: invisible }), "body.title");
      assertInvalid(await register({ agentName: invisible }), "body.agentName");
    }
  });

  it("a description accepts line breaks and right-to-left marks, but nothing that reorders what follows", async () => {
    for (const description of ["one\ttwo\r\nthree", "שלום\u200f (42)", "می\u200cخواهم 👩\u200d💻"]) {
      assert.strictEqual((await list({ description })).status, 201);
    }
    for (const character of ["\u0007", "\u0085", "\u202a", "\u202e", "\u2066", "\u2069"]) {
      assertInvalid(await list({ description: `Pay ${character} now` }), "body.description");
    }
  });

  it("an address with a wrong EIP-55 checksum is refused, and one without a checksum is accepted", async () => {
    for (const address of [RIGHT, RIGHT.toLowerCase(), `0x${RIGHT.slice(2).toUpperCase()}`]) {
      const { status, body } = await api.request("GET", `${SCORE}?address=${address}`);
      assert.deepEqual([status, body.address], [200, RIGHT]);
    }
    assertInvalid(await api.request("GET", `${SCORE}?address=${WRONG}`), "query.address");
    assertInvalid(await register({ walletAddress: WRONG }), "body.walletAddress");
    assertInvalid(await api.request("GET", `${SCORE}?address=0X${RIGHT.slice(2)}`), "query.address");
  });
});
