import type { IncomingHttpHeaders } from "node:http";

import type { RawResult } from "../../http/define-route.ts";
import { answerText, prepareText } from "../../http/prepared-text.ts";
import type { PreparedText } from "../../http/prepared-text.ts";

/** A JSON document that stays the same: made and compressed when it is first asked for. */
export class StaticDocument {
  readonly #make: () => object;
  #prepared: Promise<PreparedText> | undefined;

  constructor(make: () => object) {
    this.#make = make;
  }

  /** The answer to a request with these headers; 304 if the client has the document. */
  async answer(requested: IncomingHttpHeaders): Promise<RawResult> {
    const prepared = await (this.#prepared ??= prepareText(JSON.stringify(this.#make())));
    return answerText(prepared, requested, { type: "application/json; charset=utf-8" });
  }
}
