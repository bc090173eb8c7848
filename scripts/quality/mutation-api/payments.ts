import type { ApiMutant } from "./api-mutant.ts";

const POLICY = "http/policies/idempotency.ts";
const KEYS = "features/idempotency/keys.ts";
const CLAIMS = "features/x402/claims.ts";
const GATE = "features/x402/gate.ts";
const PROOF = "features/x402/proof.ts";
const RESERVE = "features/x402/reserve.ts";
const IDEMPOTENCY_TESTS = ["idempotency/idempotency.test.ts", "idempotency/idempotency-kill.test.ts"];
const FACILITATOR = "features/x402/facilitator.ts";
const SETTLEMENT = "features/x402/settlement.ts";
const PAYMENT_TESTS = ["x402/refusals.test.ts", "x402/payments.test.ts"];
const SETTLEMENT_TESTS = ["x402/settlement.test.ts"];
const AUTHORIZATION_TESTS = ["x402/facilitator-authorization.test.ts"];

/** Faults in what must happen once: requests with an `Idempotency-Key`, and x402 payments. */
export const PAYMENT_FAULTS: ApiMutant[] = [
  {
    fault: "an Idempotency-Key belongs to all callers",
    file: POLICY,
    from: 'const scope = caller === undefined ? ["", fingerprint] : [caller.keyId];',
    to: 'const scope = caller === undefined ? ["", fingerprint] : [caller.keyId.slice(0, 4)];',
    tests: IDEMPOTENCY_TESTS,
  },
  {
    fault: "an Idempotency-Key belongs to all routes",
    file: POLICY,
    from: "[...scope, route.method, route.path, key]",
    to: "[...scope, route.method, key]",
    tests: IDEMPOTENCY_TESTS,
  },
  {
    fault: "a key answers a request with another body",
    file: KEYS,
    from: 'if (record.fingerprint !== fingerprint) return { state: "mismatch" };',
    to: "void fingerprint;",
    tests: IDEMPOTENCY_TESTS,
  },
  {
    fault: "two requests with one key both run",
    file: KEYS,
    from: 'if (record.owner !== owner) return { state: "running" };',
    to: "",
    tests: IDEMPOTENCY_TESTS,
  },
  {
    fault: "a key is taken over while its request runs",
    file: KEYS,
    from: '{ $eq: ["$fingerprint", fingerprint] }, { $lte: ["$leaseEndsAt", "$$NOW"] }],',
    to: '{ $eq: ["$fingerprint", fingerprint] }],',
    tests: IDEMPOTENCY_TESTS,
  },
  {
    fault: "an error is kept as the answer of a key",
    file: POLICY,
    from: "if (!isFinal(answer)) await keys.release(request, owner);\n    else await",
    to: "await",
    tests: [...IDEMPOTENCY_TESTS, "transactions/funding.test.ts"],
  },
  {
    fault: "a failed request keeps its key until the lease ends",
    file: KEYS,
    from: "{ $set: { leaseEndsAt: new Date(0) } }",
    to: '{ $set: { state: "open" } }',
    tests: IDEMPOTENCY_TESTS,
  },
  {
    fault: "an API key is stored as an answer",
    file: POLICY,
    from: "context.route.storesAnswer ? answer : null",
    to: 'context.route.path !== "" ? answer : null',
    tests: IDEMPOTENCY_TESTS,
  },
  {
    fault: "a repeat isn't recognised as one",
    file: KEYS,
    from: "beginning: { startedAt, seed, isRepeat: runs > 1 }",
    to: "beginning: { startedAt, seed, isRepeat: runs > 2 }",
    tests: ["idempotency/idempotency-kill.test.ts"],
  },
  {
    fault: "a transfer's proof is accepted twice",
    file: CLAIMS,
    from: "return record?.owner === owner ? record : undefined;",
    to: "return record ?? undefined;",
    tests: PAYMENT_TESTS,
  },
  {
    fault: "a payment that is taken over runs another request as a repeat",
    file: CLAIMS,
    from: "{ $cond: [isSameRequest, again, begun] }",
    to: "{ $cond: [{ $ne: [isSameRequest, null] }, again, begun] }",
    tests: PAYMENT_TESTS,
  },
  {
    fault: "a payment is taken over while its request runs",
    file: CLAIMS,
    from: '{ $eq: ["$agentId", claim.agentId] }, hasNoLease],',
    to: '{ $eq: ["$agentId", claim.agentId] }],',
    tests: PAYMENT_TESTS,
  },
  {
    fault: "a reservation takes money after its lease has ended",
    file: CLAIMS,
    from: '{ _id, owner, state: "reserved", $expr: isLive },',
    to: '{ _id, owner, state: "reserved" },',
    tests: ["x402/payment-kill.test.ts"],
  },
  {
    fault: "a transfer is spent after its reservation's lease has ended",
    file: CLAIMS,
    from: "state: { $in: [...UNPAID_STATES] }, $expr: isLive };",
    to: "state: { $in: [...UNPAID_STATES] } };",
    tests: ["x402/refusals.test.ts"],
  },
  {
    fault: "a reservation whose lease has ended is renewed",
    file: CLAIMS,
    from: "await claims.updateOne({ _id, owner, $expr: isLive }, [",
    to: "await claims.updateOne({ _id, owner }, [",
    tests: ["x402/refusals.test.ts"],
  },
  {
    fault: "the same money covers many payments at once",
    file: "features/x402/cover.ts",
    from: "if (holding.units >= sumOf([claim, ...others])) return;",
    to: "if (holding.units >= sumOf([claim])) return;",
    tests: ["x402/cover.test.ts"],
  },
  {
    fault: "payments that the money doesn't cover refuse each other",
    file: "features/x402/cover.ts",
    from: "const earlier = open.filter((other) => isEarlier(other, claim));",
    to: "const earlier = open.filter((other) => isEarlier(other, claim) || isEarlier(claim, other));",
    tests: ["x402/cover.test.ts"],
  },
  {
    fault: "a payment that the facilitator refuses stays blocked",
    file: GATE,
    from: "await claims.release(claim);\n        throw new ProofRefusedError(settlement.reason);",
    to: "throw new ProofRefusedError(settlement.reason);",
    tests: SETTLEMENT_TESTS,
  },
  {
    fault: "a call that throws keeps the payment",
    file: GATE,
    from: 'await claims.release(claim).catch((failure: unknown) => {\n        log.warn({ err: failure }, "couldn\'t release an x402 payment");\n      });',
    to: "void log;",
    tests: PAYMENT_TESTS,
  },
  {
    fault: "a spent payment answers another request",
    file: GATE,
    from: 'if (!isSameRequest) throw new ProofRefusedError("proof_already_used");',
    to: "void isSameRequest;",
    tests: SETTLEMENT_TESTS,
  },
  {
    fault: "an answer that was paid for under one key answers another key",
    file: CLAIMS,
    from: "claims.findOne({ operationId, agentId, requestHash, state",
    to: "claims.findOne({ agentId, requestHash, state",
    tests: PAYMENT_TESTS,
  },
  {
    fault: "the repeat under a key pays again while its settlement is pending",
    file: GATE,
    from: 'if (claim === null) return undefined;\n    if (claim.state !== "spent") return resume(visit, claim);',
    to: 'if (claim?.state !== "spent") return undefined;',
    tests: SETTLEMENT_TESTS,
  },
  {
    fault: "a kept answer is handed over twice",
    file: GATE,
    from: 'if (!(await claims.deliver(claim))) throw new ProofRefusedError("proof_already_used");',
    to: "await claims.deliver(claim);",
    tests: SETTLEMENT_TESTS,
  },
  {
    fault: "somebody else's transfer pays",
    file: PROOF,
    from: 'if (!isAddressEqual(from, wallet)) throw new ProofRefusedError("wrong_sender");',
    to: "void [from, wallet];",
    tests: PAYMENT_TESTS,
  },
  {
    fault: "an expired authorisation pays",
    file: PROOF,
    from: 'if (validBefore <= BigInt(now + SETTLING_SECONDS)) throw new ProofRefusedError("expired");',
    to: "void validBefore;",
    tests: ["x402/proof-validity.test.ts"],
  },
  {
    fault: "an authorisation may stay valid for ever",
    file: PROOF,
    from: "if (validBefore > BigInt(now + PAYMENT_VALIDITY_SECONDS + CLOCK_MARGIN_SECONDS)) {",
    to: "if (validBefore < 0n) {",
    tests: ["x402/proof-validity.test.ts"],
  },
  {
    fault: "a proof for another network pays",
    file: PROOF,
    from: 'if (!namesOf(terms.network).includes(message.network ?? "")) throw new ProofRefusedError("wrong_network");',
    to: "void namesOf;",
    tests: PAYMENT_TESTS,
  },
  {
    fault: "two proofs at once are accepted",
    file: PROOF,
    from: '(v1 !== undefined && v2 !== undefined) || typeof header !== "string"',
    to: 'typeof header !== "string"',
    tests: PAYMENT_TESTS,
  },
  {
    fault: "a transfer of any amount pays",
    file: RESERVE,
    from: 'return transfer.value === terms.amount ? undefined : "wrong_amount";',
    to: 'return transfer.value >= 0n ? undefined : "wrong_amount";',
    tests: PAYMENT_TESTS,
  },
  {
    fault: "a transfer to anybody pays",
    file: RESERVE,
    from: 'if (!isAddressEqual(transfer.to, terms.payTo)) return "wrong_recipient";',
    to: "",
    tests: PAYMENT_TESTS,
  },
  {
    fault: "a transfer of another token pays",
    file: RESERVE,
    from: 'if (!isAddressEqual(transfer.token, terms.token.address)) return "wrong_token";',
    to: "",
    tests: PAYMENT_TESTS,
  },
  {
    fault: "a reverted transaction pays",
    file: RESERVE,
    from: 'if (lookup.receipt.status !== "success") throw new ProofRefusedError("transaction_reverted");',
    to: 'if (lookup.receipt.status === undefined) throw new ProofRefusedError("transaction_reverted");',
    tests: PAYMENT_TESTS,
  },
  {
    fault: "a pack is credited twice",
    file: CLAIMS,
    from: "if (modifiedCount === 1) await credit(agentId, pack.class, pack.calls, session);",
    to: "for (let time = 0; time < 2; time += 1) await credit(agentId, pack.class, pack.calls, session);",
    tests: ["x402/packs.test.ts"],
  },
  {
    fault: "a refusal that may not be final frees the payment",
    file: FACILITATOR,
    from: "if (!answer.success && CERTAIN_REFUSAL.test(reason))",
    to: "if (!answer.success && !/^$/.test(reason))",
    tests: SETTLEMENT_TESTS,
  },
  {
    fault: "an unknown settlement counts as failed",
    file: SETTLEMENT,
    from: 'if (attempt.kind !== "sent" || performance.now() > end) return { kind: "pending", txHash };',
    to: 'if (attempt.kind !== "sent" || performance.now() > end) return { kind: "failed", reason: "settlement_failed" };',
    tests: SETTLEMENT_TESTS,
  },
  {
    fault: "the worker takes the answer of a caller who comes back",
    file: "features/x402/unfinished.ts",
    from: 'await claims.confirm(claim, "settled", settlement);',
    to: 'await claims.confirm(claim, "spent", settlement);',
    tests: SETTLEMENT_TESTS,
  },
  {
    fault: "a settlement isn't authorised",
    file: "features/x402/facilitator-authorization.ts",
    from: "return { verify, settle };",
    to: "return { verify, settle: {}, supported: settle };",
    tests: AUTHORIZATION_TESTS,
  },
  {
    fault: "a facilitator's token never expires",
    file: "features/x402/facilitator-authorization.ts",
    from: ".setExpirationTime(`${TOKEN_SECONDS}s`)",
    to: ".setExpirationTime(`${TOKEN_SECONDS}y`)",
    tests: AUTHORIZATION_TESTS,
  },
];
