import { assert } from "chai";

import { createThreadEncoder } from "../../../api/search/embedding/encoder.ts";
import type { SentenceEncoder } from "../../../api/search/embedding/encoder.ts";
import { isUnderstood } from "../../../api/search/query-language.ts";
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

  it("isn't understood if it isn't English", async () => {
    for (const query of FOREIGN) assert.isFalse(isUnderstood(query, await encoder.encode(query)), query);
  });

  it("is understood in English, with rare words and typing errors", async () => {
    for (const query of ENGLISH) assert.isTrue(isUnderstood(query, await encoder.encode(query)), query);
  });

  it("is understood in any language by an encoder that knows all of its words", () => {
    for (const query of FOREIGN) assert.isTrue(isUnderstood(query, { knownWordShare: 1 }), query);
  });
});
