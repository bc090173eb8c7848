import { DisputeResolved } from "../../generated/ResolverV2/ResolverV2";
import { Escrow } from "../../generated/schema";
import { recordSubmitter } from "../store/escrow";

export function handleDisputeResolved(event: DisputeResolved): void {
  const escrow = Escrow.load(event.params.escrowId);
  if (escrow != null) recordSubmitter(escrow, event.params.submitter, event);
}
