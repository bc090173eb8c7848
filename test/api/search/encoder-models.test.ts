import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { assert } from "chai";

import { cosine } from "../../../api/search/embedding/vectors.ts";
import { checkEncoder, ENCODER_FOLDER, EncoderUnusableError } from "../../../api/search/encoder/files.ts";
import { loadMiniLM, loadMultilingual } from "../../../api/search/encoder/models.ts";
import { SentencePiece } from "../../../api/search/encoder/sentencepiece.ts";
import { WordPiece } from "../../../api/search/encoder/wordpiece.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";

/** Ids and vectors of texts in six languages, by the tokenisers' own libraries and by the models in Python. */
const REFERENCE = JSON.parse(readFileSync("test/fixtures/encoder-reference.json", "utf8")) as {
  text: string;
  wordpieceIds: number[];
  sentencepieceIds: number[];
  minilm: number[];
  usem: number[];
}[];
const LEAST_COSINE = 0.999;

describe("the encoder's models", () => {
  const wordPiece = new WordPiece(readFileSync(join(ENCODER_FOLDER, "vocab.txt"), "utf8"));
  let sentencePiece: SentencePiece;
  before(() => {
    sentencePiece = new SentencePiece(readFileSync(join(ENCODER_FOLDER, "sp.model")));
  });

  it("cut texts into the tokens of the models' own libraries", () => {
    for (const { text, wordpieceIds, sentencepieceIds } of REFERENCE) {
      assert.deepEqual(wordPiece.encode(text), wordpieceIds, text);
      assert.deepEqual(sentencePiece.encode(text), sentencepieceIds, text);
    }
  });

  it("give the vectors that they give in Python", async () => {
    const [miniLM, multilingual] = await Promise.all([loadMiniLM(), loadMultilingual()]);
    for (const { text, minilm, usem } of REFERENCE) {
      for (const [model, expected] of [
        [miniLM, minilm],
        [multilingual, usem],
      ] as const) {
        const vector = await model.embed(text);
        assert.lengthOf(vector, model.dimensions);
        assert.isAtLeast(cosine(vector, unit(expected)), LEAST_COSINE, text);
        assert.closeTo(cosine(vector, vector), 1, 1e-5);
      }
    }
  });

  it("tokenise spaces, accents, ligatures and unknown characters alike", () => {
    assert.deepEqual(wordPiece.encode("Résumé\u00a0 ＡＢ\u0007"), wordPiece.encode("resume ＡＢ"));
    assert.deepEqual(wordPiece.encode(`${"x".repeat(101)}.`), [101, 100, 1012, 102]);
    assert.deepEqual(sentencePiece.encode("  a\u3000ﬁle\t"), sentencePiece.encode("a file"));
    assert.deepEqual(sentencePiece.encode("\u{10FFFD}"), [1, 6, 0, 2]);
    for (const empty of ["", " \n\u00a0"]) {
      assert.deepEqual(wordPiece.encode(empty), [101, 102]);
      assert.deepEqual(sentencePiece.encode(empty), [1, 2]);
    }
    // A text can't name the marks of its start and end.
    assert.notInclude(sentencePiece.encode("a </s> b").slice(1, -1), 2);
  });

  it("read long texts up to a bound", () => {
    const long = "one word after another ".repeat(20_000);
    assert.lengthOf(wordPiece.encode(long), 256);
    assert.lengthOf(sentencePiece.encode(long), 2_048);
  });
});

describe("the check of the encoder", () => {
  const copies: string[] = [];
  after(() => {
    for (const folder of copies) rmSync(folder, { recursive: true });
  });

  function copyOfFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), "encoder-"));
    copies.push(folder);
    cpSync(ENCODER_FOLDER, folder, { recursive: true });
    return folder;
  }

  it("accepts the files of the repository", () => checkEncoder());

  it("names a file with one wrong byte, and a missing file", async () => {
    const folder = copyOfFolder();
    const data = readdirSync(folder).filter((name) => !/\.ts$|^(LICENSE|NOTICE)$/.test(name));
    assert.lengthOf(data, 7);
    for (const name of data) {
      const path = join(folder, name);
      const bytes = readFileSync(path);
      const middle = bytes.length >> 1;
      const right = bytes.readUInt8(middle);
      bytes.writeUInt8(right ^ 1, middle);
      writeFileSync(path, bytes);
      const error = await rejectionOf(checkEncoder(folder), EncoderUnusableError);
      assert.include(error.message, `${path} has the SHA-256`);
      bytes.writeUInt8(right, middle);
      writeFileSync(path, bytes);
    }
    rmSync(join(folder, "sp.model"));
    const error = await rejectionOf(checkEncoder(folder), EncoderUnusableError);
    assert.include(error.message, `${join(folder, "sp.model")} can't be read`);
  });

  it("names the platform if the runtime doesn't load, in one line", async () => {
    const reason = new Error("libstdc++.so.6: cannot open shared object file\nRequire stack:");
    const check = checkEncoder(ENCODER_FOLDER, () => Promise.reject(reason));
    const { message } = await rejectionOf(check, EncoderUnusableError);
    assert.include(message, `${process.platform} ${process.arch}`);
    assert.include(message, "libstdc++.so.6");
    assert.notInclude(message, "\n");
  });
});

function unit(values: readonly number[]): Float32Array {
  const length = Math.hypot(...values);
  return Float32Array.from(values, (value) => value / length);
}
