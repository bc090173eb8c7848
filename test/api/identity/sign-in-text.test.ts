// What a sign-in text may look like: EIP-4361, narrowed so that a wallet shows its owner exactly what the service reads.
import { assert } from "chai";
import { privateKeyToAccount } from "viem/accounts";

import { checkSignInMessage } from "../../../api/features/identity/sign-in-message.ts";
import type { SignInPurpose } from "../../../api/features/identity/sign-in-message.ts";
import { PUBLIC_URL } from "../../fixtures/environment.ts";
import { KEY_STATEMENT, signInMessage } from "../../fixtures/sign-in.ts";
import type { SignInFields } from "../../fixtures/sign-in.ts";

const NOW = new Date("2026-03-01T12:00:00Z");
const { address } = privateKeyToAccount(`0x${"11".repeat(32)}`);
const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000);

/** Lines 1 to 10 of a text: domain, address, empty, statement, empty, URI, version, chain id, nonce, issued at. */
const text = (fields: SignInFields = {}) =>
  signInMessage(address, { issuedAt: NOW, nonce: "0123456789abcdef", ...fields });

function faultsOf(message: string, purpose: SignInPurpose = "register", publicUrl = PUBLIC_URL): string[] {
  const verdict = checkSignInMessage(message, { purpose, publicUrl, now: NOW });
  return "faults" in verdict ? verdict.faults : [];
}

/** Puts another line in the place of a line. Lines count from 1. */
function withLine(line: number, replacement: string, fields: SignInFields = {}): string {
  return text(fields)
    .split("\n")
    .map((original, index) => (index === line - 1 ? replacement : original))
    .join("\n");
}

/** Asserts that a text has one fault, which names the line. */
function assertFault(message: string, line: number, says: RegExp, purpose?: SignInPurpose): void {
  const faults = faultsOf(message, purpose);
  assert.lengthOf(faults, 1, faults.join("; "));
  assert.match(faults[0] ?? "", says);
  assert.match(faults[0] ?? "", new RegExp(String.raw`\bline ${line}\b`));
}

describe("the text of a sign-in", () => {
  const HEADER = "wants you to sign in with your Ethereum account:";

  describe("is accepted", () => {
    const accepted: [string, string][] = [
      ["with the required fields alone", text()],
      ["with the domain in upper case", withLine(1, `MARKET.TEST ${HEADER}`)],
      ["with the address in lower case", withLine(2, address.toLowerCase())],
      ["with a path and a query in its URI", text({ uri: `${PUBLIC_URL}/login?next=%2Fhome#top` })],
      ["with the default port in its URI", text({ uri: "https://market.test:443" })],
      ["with a time of another zone", withLine(10, "Issued At: 2026-03-01T14:00:00.000001+02:00")],
      ["with a time of RFC 3339 in lower case", withLine(10, "Issued At: 2026-03-01t12:00:00z")],
      ["with punctuation in its statement", text({ statement: "Register: that's me, (agent #1) & 50~60_$!" })],
      [
        "with every optional field",
        text({
          expirationTime: at(60),
          notBefore: at(-60),
          requestId: "deal-1%20",
          resources: [
            "https://market.test/terms",
            "ipfs://bafybeiemxf5abjwjbikoz4mc3a3dla6ual3jsgpdr4cjr3oz3evfyavhwq/",
          ],
        }),
      ],
    ];
    for (const [what, message] of accepted) {
      it(what, () => {
        assert.deepEqual(faultsOf(message), []);
      });
    }
  });

  describe("is refused, by its line,", () => {
    const refused: [string, string, number, RegExp][] = [
      [
        "with a scheme before its domain",
        withLine(1, `https://market.test ${HEADER}`),
        1,
        /^domain must be market\.test/,
      ],
      ["with user info before its domain", withLine(1, `market.test@evil.test ${HEADER}`), 1, /^domain must be/],
      ["with localhost as its domain", withLine(1, `localhost ${HEADER}`), 1, /^domain must be market\.test/],
      ["with another first line", withLine(1, "market.test asks you to sign in:"), 1, /wants you to sign in/],
      ["with white space before its domain", withLine(1, ` market.test ${HEADER}`), 1, /^domain must be/],
      [
        "with a wrong checksum",
        withLine(
          2,
          address.replace(/[a-z]/, (letter) => letter.toUpperCase()),
        ),
        2,
        /EIP-55/,
      ],
      ["with a short address", withLine(2, "0x12"), 2, /^address must be/],
      ["without the empty line after the address", withLine(3, "Trust me"), 3, /must be empty/],
      ["with a statement of two lines", text().replace("\n\nURI", "\nSecond line.\n\nURI"), 5, /must be empty/],
      ["with a NUL in its statement", text({ statement: "Register\u0000 me" }), 4, /^statement may only contain/],
      ["with a letter of another alphabet", withLine(4, "Register mе"), 4, /^statement may only contain/],
      ["with quotes in its statement", withLine(4, 'Register "me"'), 4, /^statement may only contain/],
      ["with a long statement", withLine(4, `Register ${"x".repeat(492)}`), 4, /^statement must have at most 500/],
      ["with lines that end with CR LF", text().replaceAll("\n", "\r\n"), 1, /wants you to sign in/],
      ["with a CR after its statement", withLine(4, "Register me.\r"), 4, /^statement may only contain/],
      ["with user info in its URI", text({ uri: "https://me@market.test" }), 6, /^URI must be .* without user name/],
      ["with an empty user in its URI", text({ uri: "https://@market.test" }), 6, /^URI must be/],
      ["with another port in its URI", text({ uri: "https://market.test:444" }), 6, /^URI must be/],
      ["with another scheme in its URI", text({ uri: "http://market.test" }), 6, /^URI must be/],
      ["with another host that starts like ours", text({ uri: "https://market.test.evil.test" }), 6, /^URI must be/],
      ["with a URI of one slash", withLine(6, "URI: https:/market.test"), 6, /^URI must be/],
      ["with a backslash in its URI", withLine(6, "URI: https://market.test\\@evil.test"), 6, /^URI must be/],
      ["with a tab in its URI", withLine(6, "URI: https://mar\tket.test"), 6, /^URI must be/],
      ["with a space after its URI", withLine(6, `URI: ${PUBLIC_URL} `), 6, /^URI must be/],
      ["with a version of two digits", withLine(7, "Version: 01"), 7, /^version must be 1/],
      [
        "with a chain id that starts with 0",
        withLine(8, "Chain ID: 084532"),
        8,
        /^chain id must be one of 84532, 8453/,
      ],
      ["with a chain id in hexadecimal", withLine(8, "Chain ID: 0x14a34"), 8, /^chain id must be one of/],
      ["with a dash in its nonce", withLine(9, "Nonce: 0123-4567"), 9, /^nonce must have 8 to 128 letters and digits/],
      ["with a short nonce", withLine(9, "Nonce: 1234567"), 9, /^nonce must have 8 to 128/],
      ["with a long nonce", withLine(9, `Nonce: ${"0".repeat(129)}`), 9, /^nonce must have 8 to 128/],
      ["with a space after its nonce", withLine(9, "Nonce: 01234567 "), 9, /^nonce must have/],
      ["with a date alone", withLine(10, "Issued At: 2026-03-01"), 10, /^issued-at must be a time like/],
      [
        "with a day that doesn't exist",
        withLine(10, "Issued At: 2026-02-29T12:00:00Z"),
        10,
        /^issued-at must be a time/,
      ],
      [
        "with a date of a browser",
        withLine(10, `Issued At: ${NOW.toUTCString()}`),
        10,
        /^issued-at must be a time like/,
      ],
      ["with an expiry that is no time", `${text()}\nExpiration Time: never`, 11, /^expiration-time must be a time/],
      ["with a start that is no time", `${text()}\nNot Before: 0`, 11, /^not-before must be a time like/],
      ["with a space in its request id", `${text()}\nRequest ID: a b`, 11, /^request id may only contain/],
      ["with a resource that is no URI", `${text()}\nResources:\n- terms`, 12, /^resource must be a URI/],
      ["with Issued At twice", `${text()}\nIssued At: ${NOW.toISOString()}`, 11, /must not be there/],
      ["with Not Before twice", `${text({ notBefore: at(-1) })}\nNot Before: ${NOW.toISOString()}`, 12, /must not be/],
      ["with a second URI", `${text()}\nURI: https://evil.test`, 11, /must not be there/],
      ["with an unknown field", `${text()}\nAmount: 5`, 11, /must not be there: only "Expiration Time: "/],
      ["with text after the end", `${text()}\nand all my tokens`, 11, /must not be there/],
      ["with a line break after the end", `${text()}\n`, 11, /nothing after them, not even a line break/],
      ["with text after its resources", `${text({ resources: [PUBLIC_URL] })}\nmore`, 13, /must not be there/],
      ["with its fields in another order", swap(text(), 8, 9), 8, /must start with "Chain ID: "/],
      ["without a nonce", text().replace(/\nNonce: .*/, ""), 9, /must start with "Nonce: "/],
      ["with a field in lower case", withLine(9, "nonce: 01234567"), 9, /must start with "Nonce: "/],
    ];
    for (const [what, message, line, says] of refused) {
      it(`[D21] ${what}`, () => {
        assertFault(message, line, says);
      });
    }

    it("[D21] with both purposes in one statement, for either of them", () => {
      const both = text({ statement: "Register this wallet and issue an API key." });
      assertFault(both, 4, /must not contain "API key"/);
      assertFault(both, 4, /must not contain "register"/, "issue_key");
      const plural = text({ statement: "Register this wallet and hand out API keys." });
      assertFault(plural, 4, /must not contain "API key"/);
    });

    it("[D21] without a statement", () => {
      assertFault(text({ statement: undefined }), 4, /^statement must name its purpose/);
      assertFault(text({ statement: undefined }), 4, /^statement must name its purpose/, "issue_key");
      assert.deepEqual(faultsOf(text({ statement: KEY_STATEMENT }), "issue_key"), []);
    });
  });

  it("names every line that is wrong, not the first alone", () => {
    const wrong = text({ domain: "evil.test", chainId: 1 }).replace(/Nonce: \w+/, "Nonce: a-b");
    assert.deepEqual(
      faultsOf(wrong).map((fault) => /\(line (\d+)\)$/.exec(fault)?.[1]),
      ["1", "8", "9"],
    );
  });

  it("gives Not Before the tolerance that Issued At has for a clock that is ahead", () => {
    assert.deepEqual(faultsOf(text({ issuedAt: at(60), notBefore: at(60) })), []);
    assertFault(text({ notBefore: at(61) }), 11, /not valid yet$/);
    assertFault(text({ issuedAt: at(61) }), 10, /^issued-at must be within/);
    assertFault(text({ expirationTime: at(0) }), 11, /has expired$/);
  });

  it("takes the names of the loopback for each other only where the service is on the loopback", () => {
    // By lines: viem takes no IPv6 address as a domain.
    const [header, , , , , uri] = text().split("\n");
    const fits = (publicUrl: string, host: string, scheme = "http") => {
      const message = text()
        .replace(header ?? "", `${host} ${HEADER}`)
        .replace(uri ?? "", `URI: ${scheme}://${host}`);
      return faultsOf(message, "register", publicUrl).length === 0;
    };
    for (const own of ["127.0.0.1", "localhost", "[::1]"]) {
      for (const host of ["127.0.0.1:3000", "localhost:3000", "[::1]:3000"])
        assert.ok(fits(`http://${own}:3000`, host), `${own} ${host}`);
      for (const host of ["localhost:3001", "127.0.0.2:3000", "localhost"])
        assert.notOk(fits(`http://${own}:3000`, host));
    }
    for (const own of [
      "https://market.test",
      "http://0.0.0.0:3000",
      "http://localhost.market.test",
      "http://10.0.0.1",
    ]) {
      for (const name of ["localhost", "127.0.0.1", "[::1]"]) {
        const { protocol, port } = new URL(own);
        const host = port === "" ? name : `${name}:${port}`;
        assert.notOk(fits(own, host, protocol.slice(0, -1)), `${own} ${host}`);
      }
    }
  });
});

function swap(message: string, first: number, second: number): string {
  const lines = message.split("\n");
  const [a = "", b = ""] = [lines[first - 1], lines[second - 1]];
  lines[first - 1] = b;
  lines[second - 1] = a;
  return lines.join("\n");
}
