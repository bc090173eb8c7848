import { assert } from "chai";

import { createThreadEncoder } from "../../../api/search/embedding/encoder.ts";
import type { SentenceEncoder } from "../../../api/search/embedding/encoder.ts";
import { cosine } from "../../../api/search/embedding/vectors.ts";
import { createLogger } from "../../../api/lib/logger.ts";

const FOREIGN = [
  "übersetze mein Dokument ins Englische",
  "ich brauche jemanden der meine Steuererklärung macht",
  "necesito un traductor para mi contrato",
  "trouver un auditeur de contrats intelligents",
  "preciso de alguém para verificar as minhas contas",
  "审计我的智能合约",
  "スマートコントラクトの監査",
  "аудит смарт контрактов",
];
const ENGLISH = [
  "find security holes in my ethereum code",
  "bookkeeping",
  "zk rollup prover",
  "GDPR DPIA",
  "automate calculations in my Excel workbook",
  "shuold we extend paymnet terms to this buisness client",
  "translate my contract",
  "aerial pictures to measure a gravel pit",
];

describe("the language of a query", () => {
  let encoder: SentenceEncoder;
  before(() => {
    encoder = createThreadEncoder(createLogger({ level: "silent", name: "test" }));
  });
  after(() => encoder.close());

  it("is another one if it isn't English", async () => {
    for (const query of FOREIGN) assert.strictEqual((await encoder.encode(query)).language, "other", query);
  });

  it("is English with rare words and typing errors", async () => {
    for (const query of ENGLISH) assert.strictEqual((await encoder.encode(query)).language, "english", query);
  });

  it("decides whether a query has the part for English; a listing always has both", async () => {
    const [document, english, other] = await Promise.all([
      encoder.encode("Übersetzungen vom Deutschen ins Englische"),
      encoder.encode("translate my contract", { as: "query" }),
      encoder.encode("übersetze mein Dokument ins Englische", { as: "query" }),
    ]);
    const parts = ({ vector }: typeof document) =>
      [vector.subarray(0, 384), vector.subarray(384)].map((part) => cosine(part, part));
    for (const encoding of [document, english]) {
      const [first, second] = parts(encoding);
      assert.closeTo(first ?? 0, 0.7, 1e-4);
      assert.closeTo(second ?? 0, 0.3, 1e-4);
    }
    const [first, second] = parts(other);
    assert.strictEqual(first, 0);
    assert.closeTo(second ?? 0, 1, 1e-4);
  });

  it("doesn't keep a query from the listings that it means", async () => {
    const [translator, bakery] = await Promise.all(
      ["Translates letters and papers into English", "Bakes bread and cakes for cafes every morning"].map(
        async (text) => (await encoder.encode(text)).vector,
      ),
    );
    assert.ok(translator !== undefined && bakery !== undefined);
    for (const query of ["übersetze meinen Brief ins Englische", "necesito traducir una carta al inglés"]) {
      const { vector } = await encoder.encode(query, { as: "query" });
      assert.isAbove(cosine(vector, translator), cosine(vector, bakery) + 0.1, query);
    }
  });

  it("doesn't matter to the comparison of English texts alone", async () => {
    const { vector } = await encoder.encode("translate my contract", { isEnglishAlone: true });
    assert.lengthOf(vector, 384);
    assert.closeTo(cosine(vector, vector), 1, 1e-5);
  });
});
