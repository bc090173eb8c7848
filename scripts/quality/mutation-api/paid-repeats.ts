import type { ApiMutant } from "./api-mutant.ts";

const CLAIMS = "features/x402/settling/claims.ts";
const PAID_CALLS = "features/x402/paid-calls.ts";
const GATE = "features/x402/gate.ts";
const ATTEMPT = "features/x402/payment-attempt.ts";
const RESPONSES = "features/x402/offer/payment-responses.ts";
const REPEAT_TESTS = ["x402/repeats.test.ts"];
const PAYMENT_TESTS = ["x402/refusals.test.ts", "x402/used-payments.test.ts", "x402/payments.test.ts"];
const SETTLEMENT_TESTS = ["x402/settlement.test.ts"];

/** Faults in the answers to repeated payments. */
export const PAID_REPEAT_FAULTS: ApiMutant[] = [
  {
    fault: "an answer that was paid for under one key answers another key",
    file: CLAIMS,
    from: ".findOne({ operationId, agentId, requestHash, state",
    to: ".findOne({ agentId, requestHash, state",
    tests: PAYMENT_TESTS,
  },
  {
    fault: "the repeat under a key pays again while its settlement is pending",
    file: GATE,
    from: 'if (claim === null) return undefined;\n    if (claim.state !== "spent") return answerOf(await paidCalls.resume(attempt, claim));',
    to: 'if (claim?.state !== "spent") return undefined;',
    tests: SETTLEMENT_TESTS,
  },
  {
    fault: "a sent answer is given for any proof of its payment",
    file: PAID_CALLS,
    from: 'if (taken === "sent") return undefined;',
    to: 'if (taken === "sent") return found;',
    tests: PAYMENT_TESTS,
  },
  {
    fault: "a paid call's answer is given to another key of the agent",
    file: ATTEMPT,
    from: "if (!isSameRequest(claim, call) || claim.keyId !== call.keyId) return false;",
    to: "if (!isSameRequest(claim, call)) return false;",
    tests: REPEAT_TESTS,
  },
  {
    fault: "a paid call's answer is given under another Idempotency-Key",
    file: ATTEMPT,
    from: "return !isOther && isSamePayment(claim, proof);",
    to: "return isOther !== undefined && isSamePayment(claim, proof);",
    tests: REPEAT_TESTS,
  },
  {
    fault: "a paid call is the same under another If-Match",
    file: ATTEMPT,
    from: "inputText(input), ...conditions]));",
    to: "inputText(input), conditions.length]));",
    tests: REPEAT_TESTS,
  },
  {
    fault: "a payment that has paid asks to be paid again",
    file: RESPONSES,
    from: "if (instead !== undefined) return this.#holdOff(",
    to: 'if (instead !== undefined && code !== "payment_verification_failed") return this.#holdOff(',
    tests: [...PAYMENT_TESTS, ...REPEAT_TESTS],
  },
  {
    fault: "a spent payment for a call of another price asks to be paid again",
    file: GATE,
    from: 'throw hasPaid ? new ProofRefusedError("proof_already_used") : error;',
    to: "throw hasPaid ? error : error;",
    tests: REPEAT_TESTS,
  },
  {
    fault: "a stored answer outlives its day",
    file: CLAIMS,
    from: "const alive = { _id, requestHash, expiresAt: { $gt: this.#now() } };",
    to: "const alive = { _id, requestHash };",
    tests: REPEAT_TESTS,
  },
  {
    fault: "a paid call runs again once there is budget",
    file: GATE,
    from: "if (charge === undefined) return (await repeats.freeAnswer(context, caller)) ?? next();",
    to: "if (charge === undefined) return next();",
    tests: REPEAT_TESTS,
  },
  {
    fault: "a payment's id may come with another payment",
    file: GATE,
    from: "if (owner !== null && !isSamePayment(owner, proof))",
    to: "if (owner !== null && owner._id.length < 0)",
    tests: ["x402/payment-identifier.test.ts"],
  },
  {
    fault: "a payment's id belongs to all keys",
    file: CLAIMS,
    from: "this.#claims.findOne({ keyId, paymentId })",
    to: "this.#claims.findOne({ paymentId, state: { $ne: keyId } })",
    tests: ["x402/payment-identifier.test.ts"],
  },
  {
    fault: "two payments with one id are both taken",
    file: "features/x402/model.ts",
    from: '{ unique: true, ...having("paymentId") }',
    to: 'having("paymentId")',
    tests: ["x402/payment-identifier.test.ts"],
  },
  {
    fault: "an unusable id of a payment is ignored",
    file: "features/x402/offer/payment-identifier.ts",
    from: "if (parsed.success) return parsed.data.info.id;",
    to: "if (parsed.success || !parsed.success) return parsed.data?.info.id;",
    tests: ["x402/payment-identifier.test.ts"],
  },
];
