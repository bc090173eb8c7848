// What an owner reads and writes about a dispute, and the agreement that the page encodes.
import { assert } from "chai";
import { decodeFunctionData, encodeErrorResult, hashTypedData } from "viem";

import { resolverAbi } from "../../api/chain/abis.ts";
import { AGREEMENT_TYPES as API_TYPES, agreementDomain } from "../../api/chain/agreement.ts";
import { EVIDENCE_LIMITS } from "../../api/config/constants.ts";
import { agreementData } from "../../sdk/src/agreement-data.ts";
import { encodeAgreement, revertNameOf } from "../../sdk/src/calls.ts";
import type { Dispute, Ruling, SettlementOffer } from "../../sdk/src/generated/api-types.ts";
import {
  agreedTerms,
  disputeRefusal,
  EVIDENCE_BOUNDS,
  evidenceBody,
  evidenceFaults,
  NO_EVIDENCE,
  percentIn,
  refusedFields,
  sharesOf,
  shownRuling,
} from "../../web/src/owner/dispute-words.ts";

const ESCROW_ID = `0x${"ab".repeat(32)}` as const;
const RESOLVER = "0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const DEADLINE = 1_800_000_000;

describe("evidence in a form", () => {
  it("has the API's bounds, and says by how much it is above them", () => {
    const { text, items, attachments } = EVIDENCE_BOUNDS;
    assert.deepEqual({ textLength: text, items, attachments }, { ...EVIDENCE_LIMITS });
    const faults = (fields: object) => evidenceFaults({ ...NO_EVIDENCE, text: "x", ...fields });
    assert.deepEqual(faults({}), {});
    assert.deepEqual(faults({ text: " \n" }), { text: "Write something." });
    assert.deepEqual(faults({ text: "\u{1F600}".repeat(text) }), {}, "characters, not units of UTF-16");
    assert.deepEqual(faults({ text: "a".repeat(text + 2) }), { text: "5,002 characters: 2 too many." });
    const lines = (count: number) => "https://agent.example/result\n\n".repeat(count);
    assert.deepEqual(faults({ attachments: lines(attachments) }), {});
    assert.deepEqual(faults({ attachments: lines(attachments + 1) }), { attachments: "11 addresses: 1 too many." });
    for (const address of ["http://agent.example", "javascript:alert(1)", "https://", "no address"]) {
      assert.deepEqual(faults({ attachments: address }), { attachments: "Each an address with https://." }, address);
    }
  });

  it("is sent as the API takes it, and shows what the API found wrong beside its field", () => {
    const fields = { type: "other", text: " It fails. ", attachments: " https://a.example \n", isLast: false };
    const item = { type: "other", description: "It fails.", attachments: ["https://a.example"] };
    assert.deepEqual(evidenceBody(fields), item);
    assert.deepEqual(evidenceBody({ ...fields, isLast: true }), { ...item, complete: true });
    const details = [
      { path: "body.attachments.0", message: "Must be an https URL" },
      { path: "body.reason", message: "No control characters" },
      { path: "body.unknown", message: "Unknown" },
    ];
    const refused = refusedFields({ status: 400, body: { code: "validation_error", details } });
    assert.deepEqual(refused, { attachments: "Must be an https URL.", text: "No control characters." });
    const full = { code: "evidence_limit_reached", details: { submitted: 20, limit: 20 } };
    assert.match(disputeRefusal({ status: 409, body: full }), /20 items of evidence, and 20 are the most/);
  });
});

describe("a settlement in words", () => {
  it("divides whole percents as the contract does, with what is left over for the seller", () => {
    const percents = ["0", "7", " 50 ", "100"].map(percentIn);
    assert.deepEqual(percents, [0, 7, 50, 100]);
    const wrong = ["", "101", "-1", "5.5", "05", "1e1", "0x10"].map(percentIn);
    assert.isTrue(wrong.every((percent) => percent === undefined));
    assert.deepEqual(sharesOf({ lockedAmount: "101" }, 50), { buyer: 50n, seller: 51n });
    assert.deepEqual(sharesOf({ lockedAmount: "101" }, 100), { buyer: 101n, seller: 0n });
  });

  it("is agreed once both have signed the same share and deadline, and both hold", () => {
    const offer = (fields: Partial<SettlementOffer> = {}) =>
      ({ buyerPercent: 40, deadline: DEADLINE, status: "open", ...fields }) as SettlementOffer;
    const agreed = (buyer: SettlementOffer | null, seller: SettlementOffer | null) =>
      agreedTerms({ settlement: { offers: { buyer, seller } } } as Dispute) !== undefined;
    assert.isTrue(agreed(offer(), offer()));
    assert.isFalse(agreed(offer(), null));
    assert.isFalse(agreed(offer(), offer({ buyerPercent: 41 })));
    assert.isFalse(agreed(offer(), offer({ deadline: DEADLINE + 1 })));
    assert.isFalse(agreed(offer({ status: "expired" }), offer({ status: "expired" })));
  });

  it("is signed and encoded as the contract takes it", () => {
    const terms = { escrowId: ESCROW_ID, buyerPercent: 40, deadline: DEADLINE };
    const domain = { chainId: 84_532, resolver: RESOLVER } as const;
    assert.strictEqual(
      hashTypedData(agreementData({ ...domain, ...terms })),
      hashTypedData({
        domain: agreementDomain({ chainId: domain.chainId, resolverContract: RESOLVER }),
        types: API_TYPES,
        primaryType: "ResolutionAgreement",
        message: { escrowId: ESCROW_ID, buyerPercent: 40n, deadline: BigInt(DEADLINE) },
      }),
    );
    const signatures = { buyerSignature: "0x01", sellerSignature: "0x02" } as const;
    const data = encodeAgreement(ESCROW_ID, { ...terms, ...signatures });
    assert.deepEqual(decodeFunctionData({ abi: resolverAbi, data }), {
      functionName: "resolveByAgreement",
      args: [ESCROW_ID, 40n, BigInt(DEADLINE), ["0x01", "0x02"]],
    });
    const reverted = encodeErrorResult({ abi: resolverAbi, errorName: "AgreementExpired", args: [2n, 1n] });
    assert.strictEqual(revertNameOf(reverted), "AgreementExpired");
  });
});

describe("a ruling's document on a page", () => {
  it("is read whatever its version, and never fails", () => {
    const read = (document: Record<string, unknown>) => shownRuling({ document } as Ruling);
    const nothing = { facts: [], checks: [], reasons: [], ruledBy: "", ruledAt: undefined };
    assert.deepEqual(read({}), nothing);
    assert.deepEqual(read({ facts: "none", reasons: [1, null], ruledAt: "soon", ruledBy: 1 }), nothing);
    const checks = [{ text: "It is long", result: "fail", detail: "3 words" }, null];
    assert.deepEqual(read({ checks }).checks, [
      { name: "It is long", result: "fail", detail: "3 words" },
      { name: "", result: "", detail: "" },
    ]);
  });
});
