import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";

import { classesOf, isClientClass } from "./admission.ts";
import type { Admission, AdmissionControl, AdmissionRequest } from "./admission.ts";
import type { RouteDefinition } from "./define-route.ts";

/** A client's request that others are made for, inside of this process. */
export interface OuterRequest {
  method: string;
  /** Path and query as requested. */
  target: string;
  headers: IncomingHttpHeaders;
  bodyBytes: Buffer;
  response: ServerResponse;
}

type AnyRoute = RouteDefinition<never>;

/** An operation that is counted. */
type Unit = Pick<AnyRoute, "name" | "limitClass" | "budget" | "withParameter">;

/** What a compound call counts as. */
export interface CompoundCallOptions {
  outer: OuterRequest;
  /** Its main operation, such as a route: the whole call is one unit of that operation's classes. */
  main: Unit;
  /** The route whose request the payment pays for; by default the first request's. */
  paidRoute?: AnyRoute | undefined;
  /** Headers of the client's payment. */
  payment?: Readonly<Record<string, string>> | undefined;
}

/** An admitted request of a compound call. */
export interface InnerAdmission extends Admission {
  /** Headers of the payment, on the one request that it pays for. */
  payment?: Readonly<Record<string, string>> | undefined;
}

/**
 * A client's call that takes several requests inside of this process. It counts once, as its main operation, before anything is
 * done. The other requests are authenticated and not counted. At most one of them is asked to be paid for.
 */
export class CompoundCall {
  readonly outer: OuterRequest;
  readonly #options: CompoundCallOptions;
  #unit: Promise<Admission> | undefined;
  #paidRoute: string | undefined;
  #isPaymentBorne = false;
  #signature: Promise<void> | undefined;
  readonly #served = { any: false, main: undefined as boolean | undefined };

  constructor(options: CompoundCallOptions) {
    this.#options = options;
    this.outer = options.outer;
    this.#paidRoute = options.paidRoute?.name;
  }

  /** Whether a request of it has been counted, or refused by a limit. */
  get isCounted(): boolean {
    return this.#unit !== undefined;
  }

  /** Admits one of its requests. @throws ApiError as `AdmissionControl.admit` */
  async admit(
    route: AnyRoute,
    request: Omit<AdmissionRequest, "rateClass" | "budget">,
    control: Pick<AdmissionControl, "admit">,
  ): Promise<InnerAdmission> {
    const classes = classesOf(this.#options.main, {});
    const countsByAddress = classes.rateClass !== undefined && isClientClass(classes.rateClass);
    const isUnit = this.#unit === undefined && (countsByAddress || route.auth !== "none");
    if (isUnit) {
      this.#paidRoute ??= route.name;
      this.#unit = control.admit({ ...request, ...classes });
    }
    // Once a limit refuses the call, none of its requests is admitted.
    const unit = await this.#unit;
    const admitted =
      isUnit && unit !== undefined
        ? unit
        : await control.admit({ ...request, rateClass: undefined, budget: undefined });
    const settle = (served: boolean): Promise<void> => {
      this.#served.any ||= served;
      if (route.name === this.#options.main.name) this.#served.main = served;
      return Promise.resolve();
    };
    return { ...admitted, settle, ...this.#chargeOf(route, unit) };
  }

  /** Checks the client's signature once, however many requests ask for it. */
  checkSignature(check: () => Promise<void>): Promise<void> {
    this.#signature ??= check();
    return this.#signature;
  }

  /** Ends the reservation of the budget. Must be called once nothing more is done for the call. Never throws. */
  async end(): Promise<void> {
    const unit = await this.#unit?.catch(() => undefined);
    await unit?.settle(this.#served.main ?? this.#served.any);
  }

  /** What a request is asked to pay for. Without a payment nothing is done for a call beyond its budget. */
  #chargeOf(
    { name }: AnyRoute,
    unit: Admission | undefined,
  ): Pick<InnerAdmission, "budget" | "payment"> & Partial<Pick<InnerAdmission, "settle">> {
    const { payment } = this.#options;
    if (unit?.budget?.exhausted !== true) return { budget: undefined };
    if (payment === undefined) return { budget: unit.budget };
    if (name !== this.#paidRoute || this.#isPaymentBorne) return { budget: undefined };
    this.#isPaymentBorne = true;
    const settle = (served: boolean): Promise<void> => {
      // A client inside of this process may repeat what had no answer.
      this.#isPaymentBorne = served;
      this.#served.any ||= served;
      this.#served.main = served;
      return Promise.resolve();
    };
    return { budget: unit.budget, payment, settle };
  }
}

const calls = new WeakMap<IncomingMessage, CompoundCall>();

/** Marks a request as one of a compound call. Only this process can: no header or path does. */
export function markInner(request: IncomingMessage, call: CompoundCall): void {
  calls.set(request, call);
}

/** The call that a request was made for inside of this process; undefined for a client's request. */
export function compoundCallOf(request: IncomingMessage): CompoundCall | undefined {
  return calls.get(request);
}
