// Pages of messages are bounded by bytes, and not only by their number: 100 messages may have 6 MB.
import { assert } from "chai";

import { PAGE_BYTES } from "../../../api/db/pages.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { Correspondent, startMessageApi } from "../../fixtures/messages.ts";

const UCP = "/api/v1/ucp/messages";
/** 17 of these are 1,020,000 bytes, and with another one a page would be past 1 MB. */
const TEXT = "x".repeat(60_000);
const SENT = 20;
const ON_FIRST_PAGE = 17;

describe("pages of large messages", () => {
  let api: TestApi;
  let alice: Correspondent;
  let bob: Correspondent;
  /** Ids of the messages, newest first. */
  const ids: string[] = [];
  before(async () => {
    api = await startMessageApi();
    [alice, bob] = await Promise.all([Correspondent.register(api), Correspondent.register(api)]);
    // A ucp message is also in the lists of other messages.
    for (let n = 0; n < SENT; n += 1) {
      const { status, body, text } = await alice.call("POST", UCP, {
        type: "offer",
        toAgentId: bob.id,
        payload: { text: TEXT },
      });
      assert.strictEqual(status, 201, text);
      ids.unshift(body.data.id);
    }
  });
  after(() => api.close());

  /** Reads a list to its end, and returns the ids of each page. */
  async function pagesOf(reader: Correspondent, path: string): Promise<string[][]> {
    const pages: string[][] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const page = await reader.call("GET", `${path}${cursor === "" ? "" : `&cursor=${cursor}`}`);
      assert.strictEqual(page.status, 200, page.text.slice(0, 1_000));
      assert.isAtMost(Buffer.byteLength(page.text), PAGE_BYTES);
      pages.push(page.body.data.map(({ id }: { id: string }) => id));
      cursor = page.body.nextCursor;
    }
    return pages;
  }

  const lists: [name: string, path: string, reader: () => Correspondent][] = [
    ["an inbox", "/api/v1/messages?limit=100", () => bob],
    ["unread messages", "/api/v1/messages?limit=100&unread=true", () => bob],
    ["what an agent has sent", "/api/v1/messages?box=sent&limit=100", () => alice],
    ["ucp messages", `${UCP}?limit=100`, () => bob],
  ];
  for (const [name, path, reader] of lists) {
    it(`have about 1 MB for ${name}, and each message once`, async () => {
      const pages = await pagesOf(reader(), path);
      assert.deepEqual(pages, [ids.slice(0, ON_FIRST_PAGE), ids.slice(ON_FIRST_PAGE)]);
    });
  }

  it("still have no more than their limit", async () => {
    const pages = await pagesOf(bob, "/api/v1/messages?limit=8");
    assert.deepEqual(pages, [ids.slice(0, 8), ids.slice(8, 16), ids.slice(16)]);
  });
});
