import { randomBytes } from "node:crypto";

import { RATE_WINDOW_MS } from "../../config/constants.ts";
import type { CallClass, RateClass } from "../../config/constants.ts";
import type { Limits } from "../../config/limits.ts";
import { isClientClass, rateHeaders } from "../../http/admission.ts";
import type { Admission, AdmissionRequest, ClientClass, AdmissionControl, RateState } from "../../http/admission.ts";
import { keyFor, keyRefused } from "../../http/authenticate.ts";
import { ApiError } from "../../http/errors.ts";
import type { PageSessions, SessionError } from "../../http/page-session.ts";
import type { BudgetState } from "../../http/payment-required.ts";
import type { Caller } from "../../http/define-route.ts";
import type { Scope } from "../../http/scopes.ts";
import type { AccessModels, AccessRecord, CallRecord, StoredKey } from "./access-model.ts";
import { admissionUpdate } from "./access-update.ts";
import type { AdmissionInput } from "./access-update.ts";
import type { ClientWindows } from "./client-windows.ts";
import { budgetOfRecord, commonAdmission } from "./common-admission.ts";
import type { CommonRecord } from "./common-admission.ts";
import type { CountRefusal } from "./refusals.ts";
import type { NoteSessionUse } from "./session-use.ts";
import type { Settlements, Waiting } from "./settlements.ts";
import { dayOf, resetAfter } from "./tiers.ts";

/** Dependencies of admission control. */
export interface AdmissionControlDeps {
  models: Pick<AccessModels, "access">;
  windows: ClientWindows;
  settlements: Settlements;
  countRefusal: CountRefusal;
  sessions: PageSessions;
  noteSessionUse: NoteSessionUse;
  /** Called for each prepaid call that was served. */
  onPrepaid: (type: CallClass) => void;
  limits: Limits;
  now: () => Date;
  offsetMs: () => number;
}

/** Longer than any call takes. After that, the reservation of a dead process expires. */
export const RESERVATION_LEASE_MS = 120_000;

const RANDOM_BYTES = 6;

/** The oldest and the latest call in a window, and the time by the database. */
type WindowEnds = Pick<CallRecord, "first" | "last" | "at">;

/**
 * Counters lost in a failover do no harm, so one member's acknowledgement is enough. Keys are issued and revoked by
 * majority writes.
 */
const ADMISSION_OPTIONS = { returnDocument: "after", writeConcern: { w: 1 } } as const;

/** The database's decision about a call. */
type Decision = Pick<AccessRecord, "_id" | "walletAddress"> & {
  call: CallRecord;
  /** Undefined for a key without a mandate. */
  scopes: readonly Scope[] | undefined;
  /** Undefined for a key. */
  session: HeldSession | undefined;
};

/** What of a session decides about its calls. */
type HeldSession = NonNullable<StoredKey["session"]> & { expiresAt: Date };

/** Read for a page's call alone. */
const SESSION_FIELDS = { "keys.session": 1, "keys.expiresAt": 1 };

/** Checks keys, limits and budgets in the database. An ordinary call of a key takes one round trip; a refusal takes two. */
export class StoredAdmissionControl implements AdmissionControl {
  readonly #deps: AdmissionControlDeps;
  readonly emptyWindow: RateState;
  readonly #processId = randomBytes(RANDOM_BYTES).toString("hex");
  #calls = 0;

  constructor(deps: AdmissionControlDeps) {
    this.#deps = deps;
    const { keyless } = deps.limits.rateLimits;
    this.emptyWindow = { rateClass: "keyless", limit: keyless, remaining: keyless, resetSeconds: 0, nextSeconds: 0 };
  }

  countAnonymous(ip: string): Promise<RateState> {
    return this.#countClient("keyless", ip);
  }

  async admit(request: AdmissionRequest): Promise<Admission> {
    const { auth, rateClass, budget, headers, ip } = request;
    const needsKey = auth === "apiKey" || auth === "bearerKey";
    const { sessions } = this.#deps;
    const key = keyFor(auth, headers);
    // A key in a header counts alone: then cookies aren't read.
    const session = key === "absent" && auth === "apiKey" ? sessions.read(headers, request.page) : undefined;
    const presented = session === undefined || "refusal" in session ? key : session;
    const counted =
      rateClass !== undefined && isClientClass(rateClass)
        ? await this.#countKeyedClient(rateClass, ip, presented)
        : undefined;
    if (session !== undefined && "refusal" in session) return this.#refuseAnonymous(request, counted, session.refusal);
    if (presented === "invalid" || (presented === "absent" && needsKey)) return this.#refuseAnonymous(request, counted);
    if (presented === "absent") return { ...NO_CALLER, rate: counted ?? this.emptyWindow };
    const decision = await this.#decide(presented.hash, { rateClass, budget }, session !== undefined);
    const isAsPresented = (session === undefined) === (decision?.session === undefined);
    if (decision === undefined || decision.call.outcome === "ended" || !isAsPresented) {
      return this.#refuseAnonymous(request, counted, session === undefined ? "key" : "session_ended");
    }
    const { _id: agentId, walletAddress, call, scopes, session: held } = decision;
    const rate = counted ?? (rateClass === undefined ? this.emptyWindow : this.#toState(rateClass, call.counted, call));
    if (call.outcome === "suspended") {
      const seconds = secondsBetween(call.at, call.suspendedUntil ?? call.at);
      if (held === undefined) return this.#refuseAnonymous(request, counted, "key", seconds);
      // A page that asked too often waits. Its session goes on afterwards.
      throw tooMany(rateClass ?? "general", rate, call, "agent", seconds);
    }
    if (call.outcome === "limited")
      throw tooMany(rateClass ?? "general", rate, call, scopes === undefined ? "key" : "agent");
    const use = call.outcome === "reserved" && budget !== undefined ? { type: budget, day: call.day } : undefined;
    const reserved = { agentId, keyHash: presented.hash, callId: call.id, use };
    const acting = { ...(scopes === undefined ? {} : { scopes }), ...(held === undefined ? {} : { isSession: true }) };
    const admission: Admission = {
      caller: { agentId, walletAddress, keyId: call.keyId, ...(acting as Partial<Caller>) },
      rate,
      budget: budget === undefined ? undefined : toBudget(budget, call),
      settle: async (served) => {
        if (call.outcome === "free") return;
        if (served && call.outcome === "prepaid" && budget !== undefined) this.#deps.onPrepaid(budget);
        if (served) this.#deps.settlements.serve(reserved);
        else if (call.outcome === "exhausted") this.#deps.settlements.forget(reserved);
        else await this.#deps.settlements.release(reserved);
      },
    };
    if (held === undefined) return admission;
    // Both are hashes of random texts, so how long a comparison takes tells nothing.
    const given = session?.tokenHash;
    if (given !== undefined && given !== held.tokenHash) {
      await admission.settle(false);
      throw sessions.refused("session_token_invalid", rateHeaders(rate));
    }
    await this.#deps.noteSessionUse({ ...held, agentId, hash: presented.hash, at: call.at });
    return admission;
  }

  async #countClient(rateClass: ClientClass, ip: string): Promise<RateState> {
    const { times, admitted, at } = await this.#deps.windows.count(rateClass, ip);
    const ends = { first: times[0] ?? null, last: times.at(-1) ?? null, at };
    const state = this.#toState(rateClass, times.length, ends);
    if (!admitted) throw tooMany(rateClass, state, ends, "address");
    return state;
  }

  /** The state of a window that holds `calls` calls, from the oldest (`first`) to the latest (`last`). */
  #toState(rateClass: RateClass, calls: number, { first, last, at }: WindowEnds): RateState {
    const limit = this.#deps.limits.rateLimits[rateClass];
    return {
      rateClass,
      limit,
      remaining: Math.max(0, limit - calls),
      resetSeconds: last === null ? 0 : secondsLeft(last, at),
      nextSeconds: first === null ? 0 : Math.max(1, secondsLeft(first, at)),
    };
  }

  /** Counts a call for its client's address. A refusal also counts towards the suspension of the presented key. */
  async #countKeyedClient(
    rateClass: ClientClass,
    ip: string,
    presented: ReturnType<typeof keyFor>,
  ): Promise<RateState> {
    try {
      return await this.#countClient(rateClass, ip);
    } catch (error) {
      if (error instanceof ApiError && typeof presented === "object") await this.#deps.countRefusal(presented.hash);
      throw error;
    }
  }

  /**
   * Refuses a request without a valid key or session. Such requests count for the client's address, which slows down guessing of
   * keys.
   */
  async #refuseAnonymous(
    { auth, ip }: Pick<AdmissionRequest, "auth" | "ip">,
    counted: RateState | undefined,
    why: "key" | SessionError = "key",
    retryAfterSeconds?: number,
  ): Promise<never> {
    const rate = counted ?? (await this.#countClient("keyless", ip));
    if (why !== "key") throw this.#deps.sessions.refused(why, rateHeaders(rate));
    throw keyRefused(auth, {
      headers: rateHeaders(rate),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    });
  }

  /** Asks the database to admit a call of a key; undefined if no agent has the key. */
  async #decide(
    keyHash: string,
    request: Pick<AdmissionRequest, "rateClass" | "budget">,
    isSession: boolean,
  ): Promise<Decision | undefined> {
    const { rateClass, budget } = request;
    this.#calls += 1;
    const waiting = this.#deps.settlements.take(keyHash);
    const input: AdmissionInput = {
      callId: `${this.#processId}-${this.#calls}`,
      keyHash,
      window:
        rateClass === undefined || isClientClass(rateClass)
          ? undefined
          : { rateClass, limit: this.#deps.limits.rateLimits[rateClass] },
      budget: budget === undefined ? undefined : { type: budget, base: this.#deps.limits.budgets[budget] },
      settled: waiting ?? { served: [], released: [] },
      leaseMs: RESERVATION_LEASE_MS,
      offsetMs: this.#deps.offsetMs(),
    };
    try {
      const decision =
        (await this.#admitCommon(input, waiting, isSession)) ?? (await this.#decideFully(input, isSession));
      if (decision === undefined && waiting !== undefined) this.#deps.settlements.putBack(keyHash, waiting);
      return decision;
    } catch (error) {
      if (waiting !== undefined) this.#deps.settlements.putBack(keyHash, waiting);
      throw error;
    }
  }

  /** Admits a call in the common case; undefined if `decideFully` has to decide. */
  async #admitCommon(
    input: AdmissionInput,
    waiting: Waiting | undefined,
    isSession: boolean,
  ): Promise<Decision | undefined> {
    const { callId, keyHash, window, budget } = input;
    const day = dayOf(this.#deps.now());
    const isSettlingCommon =
      waiting === undefined || (waiting.released.length === 0 && waiting.use?.day.getTime() === day.getTime());
    if (window === undefined || !isSettlingCommon) return undefined;
    const admission = commonAdmission({ ...input, window, day, servedType: waiting?.use?.type });
    const { filter, update, projection } = admission;
    const options = {
      ...ADMISSION_OPTIONS,
      projection: isSession ? { ...projection, ...SESSION_FIELDS } : projection,
    };
    const found = await this.#deps.models.access.collection.findOneAndUpdate(filter, update, options);
    if (found === null) return undefined;
    const record = found as unknown as CommonRecord;
    const key = record.keys.find(({ hash }) => hash === keyHash);
    const windows = key?.scopes === undefined ? key?.windows : record.sharedWindows;
    const times = windows?.[window.rateClass] ?? [];
    const [first, last] = [times[0], times.at(-1)];
    if (key === undefined || first === undefined || last === undefined)
      throw new Error("An admitted call is missing in its window");
    const { _id, walletAddress } = record;
    return {
      _id,
      walletAddress,
      scopes: key.scopes,
      session: heldOf(key),
      call: {
        id: callId,
        keyId: key.id,
        outcome: budget === undefined ? "free" : "reserved",
        at: last,
        counted: times.length,
        first,
        last,
        day,
        suspendedUntil: null,
        ...(budget === undefined ? { used: 0, limit: 0 } : budgetOfRecord(record, budget, day)),
      },
    };
  }

  /** Decides about any call; undefined if no agent has the key. */
  async #decideFully(input: AdmissionInput, isSession: boolean): Promise<Decision | undefined> {
    const projection = { walletAddress: 1, call: 1, "keys.hash": 1, "keys.scopes": 1 };
    const found = await this.#deps.models.access.collection.findOneAndUpdate(
      { "keys.hash": input.keyHash },
      admissionUpdate(input),
      { ...ADMISSION_OPTIONS, projection: isSession ? { ...projection, ...SESSION_FIELDS } : projection },
    );
    if (found === null) return undefined;
    const { _id, walletAddress, call, keys } = found as unknown as AccessRecord & { call: CallRecord };
    const key = keys.find(({ hash }) => hash === input.keyHash);
    return { _id, walletAddress, call, scopes: key?.scopes, session: key === undefined ? undefined : heldOf(key) };
  }
}

function heldOf({ session, expiresAt }: Partial<Pick<StoredKey, "session" | "expiresAt">>): HeldSession | undefined {
  return session === undefined ? undefined : { ...session, expiresAt: expiresAt ?? session.endsAt };
}

const NO_CALLER = {
  caller: undefined,
  budget: undefined,
  settle: () => Promise.resolve(),
};

function toBudget(type: CallClass, { used, limit, outcome, day }: CallRecord): BudgetState {
  const isCounted = outcome === "reserved";
  return {
    type,
    used: isCounted ? used + 1 : used,
    limit,
    resetsAt: resetAfter(day),
    exhausted: outcome === "exhausted",
  };
}

/** @param first the oldest call in the window: when it leaves, there is room for one call */
function tooMany(
  rateClass: RateClass,
  state: RateState,
  { first, at }: Pick<CallRecord, "first" | "at">,
  countedBy: "address" | "agent" | "key",
  waitSeconds = 0,
): ApiError {
  const freeAt = new Date((first ?? at).getTime() + RATE_WINDOW_MS);
  return new ApiError(rateClass === "developerAccess" ? "too_many_attempts" : "rate_limit_exceeded", {
    details: { window: rateClass, countedBy, limit: state.limit },
    headers: rateHeaders(state),
    retryAfterSeconds: Math.max(1, waitSeconds, secondsBetween(at, freeAt)),
  });
}

function secondsBetween(from: Date, to: Date): number {
  return Math.max(0, Math.ceil((to.getTime() - from.getTime()) / 1_000));
}

/** Seconds until a call leaves its window. At most the length of a window, even if the database's clock has gone back. */
function secondsLeft(call: Date, at: Date): number {
  return Math.min(RATE_WINDOW_MS / 1_000, secondsBetween(at, new Date(call.getTime() + RATE_WINDOW_MS)));
}
