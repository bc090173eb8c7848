// Which errors of the database mean "not now" (503), and which are faults of the service (500).
import { assert } from "chai";
import { MongoErrorLabel, MongoNetworkError, MongoOperationTimeoutError, MongoServerError } from "mongodb";

import { isDatabaseOutage } from "../../../api/db/connection.ts";

const refusal = (code: number) => new MongoServerError({ message: "refused", code });

describe("an error of the database", () => {
  const passing: [name: string, code: number][] = [
    ["WriteConflict", 112],
    ["TemporarilyUnavailable", 365],
    ["LockTimeout", 24],
    ["MaxTimeMSExpired", 50],
    ["ExceededTimeLimit", 262],
    ["Interrupted", 11_601],
    ["InterruptedAtShutdown", 11_600],
    ["InterruptedDueToReplStateChange", 11_602],
    ["NotWritablePrimary", 10_107],
    ["PrimarySteppedDown", 189],
    ["SnapshotTooOld", 239],
    ["NoSuchTransaction", 251],
    ["WriteConcernTimeout", 64],
    ["CursorNotFound", 43],
  ];
  for (const [name, code] of passing) {
    it(`${name} passes, so the request may be repeated`, () => {
      assert.isTrue(isDatabaseOutage(refusal(code)));
    });
  }

  it("passes if server or driver label it so, whatever its code", () => {
    const labels = [
      MongoErrorLabel.TransientTransactionError,
      MongoErrorLabel.RetryableWriteError,
      MongoErrorLabel.UnknownTransactionCommitResult,
    ];
    for (const label of labels) {
      const error = refusal(1);
      assert.isFalse(isDatabaseOutage(error));
      error.addErrorLabel(label);
      assert.isTrue(isDatabaseOutage(error), label);
    }
  });

  it("passes if no answer came, or none in time", () => {
    assert.isTrue(isDatabaseOutage(new MongoNetworkError("cut")));
    assert.isTrue(isDatabaseOutage(new MongoOperationTimeoutError("late")));
  });

  it("doesn't pass if the command itself is wrong", () => {
    const [badValue, unauthorized, validationFailed, duplicateKey] = [2, 13, 121, 11_000];
    for (const code of [badValue, unauthorized, validationFailed, duplicateKey]) {
      assert.isFalse(isDatabaseOutage(refusal(code)), String(code));
    }
    assert.isFalse(isDatabaseOutage(new TypeError("x is undefined")));
  });
});
