import type { Network } from "../../config/constants.ts";
import type { DisputeModel, DisputeRecord, Ruling } from "./model.ts";
import type { RulingSending, SendingProgress } from "./sending/sending.ts";

/** Dependencies of the list of open disputes. */
export interface OpenDisputesDeps {
  disputes: DisputeModel;
  sending: Pick<RulingSending, "readStates">;
}

type ReadField = "_id" | "transactionId" | "network" | "escrowId" | "evidenceEndsAt" | "attempts" | "lastError";

/** An open dispute, with what became of its ruling. */
export interface OpenDispute {
  dispute: Pick<DisputeRecord, ReadField>;
  /** The ruling on its way to the chain; null before it. */
  ruling: (Pick<Ruling, "ruledBy" | "outcome"> & SendingProgress) | null;
}

/** A dispute as it is read. The projection leaves out a ruling that is null. */
type FoundDispute = OpenDispute["dispute"] & { ruling?: Pick<Ruling, "ruledBy" | "outcome"> | null };

/** Without what the parties said, which may be long. */
const FIELDS = {
  transactionId: 1,
  network: 1,
  escrowId: 1,
  evidenceEndsAt: 1,
  attempts: 1,
  lastError: 1,
  "ruling.ruledBy": 1,
  "ruling.outcome": 1,
} as const;

/** The disputes that are open on chain, for an operator. */
export class OpenDisputes {
  readonly #deps: OpenDisputesDeps;

  constructor(deps: OpenDisputesDeps) {
    this.#deps = deps;
  }

  /** Those of a network by the end of their evidence periods, the earliest first: the overdue ones come first. */
  async list(network: Network, limit: number): Promise<OpenDispute[]> {
    const { disputes, sending } = this.#deps;
    const found = await disputes
      .find({ network, isOpen: true }, FIELDS, { hint: { network: 1, evidenceEndsAt: 1 } })
      .sort({ evidenceEndsAt: 1 })
      .limit(limit)
      .lean<FoundDispute[]>();
    const progress = await sending.readStates(found.map(({ _id }) => _id));
    return found.map((dispute): OpenDispute => {
      const sent = progress.get(dispute._id);
      const { ruling } = dispute;
      if (ruling == null || sent === undefined) return { dispute, ruling: null };
      return { dispute, ruling: { ...sent, ruledBy: ruling.ruledBy, outcome: ruling.outcome } };
    });
  }
}
