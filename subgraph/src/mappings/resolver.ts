import {
  DisputeResolved,
  EIP712DomainChanged,
  Initialized,
  OwnershipTransferred,
  OwnershipTransferStarted,
  ResolverRevoked,
  ResolverTransferred,
  ResolverTransferStarted,
  RulingsPaused,
  RulingsUnpaused,
  Upgraded,
} from "../../generated/ResolverV2/ResolverV2";
import { Escrow } from "../../generated/schema";
import { resolvedByName } from "../names";
import { recordChange, recordRoleChange } from "../store/administration";
import { dropResolver, setPendingResolver, setResolver, setRulingsPaused } from "../store/configuration";
import { proposeOwner, setOwner, setVersion, upgradeContract } from "../store/contract";
import { recordSubmitter } from "../store/escrow";
import { endTenure, revokeTenure, startTenure } from "../store/tenure";

const CONTRACT = "ResolverV2";

/** Comes before the escrow contract's own event in the same transaction. */
export function handleDisputeResolved(event: DisputeResolved): void {
  const escrow = Escrow.load(event.params.escrowId);
  if (escrow != null) recordSubmitter(escrow, event.params.submitter, event);
}

export function handleResolverTransferStarted(event: ResolverTransferStarted): void {
  const role = resolvedByName(event.params.role);
  setPendingResolver(role, event.params.pending, event.block);
  recordRoleChange("ResolverTransferStarted", role, event.params.current, event.params.pending, null, event);
}

export function handleResolverTransferred(event: ResolverTransferred): void {
  const role = resolvedByName(event.params.role);
  endTenure(event.params.role, event.params.previous, event.params.from, event.block);
  startTenure(event.params.role, event.params.current, event.params.from, event.block);
  setResolver(role, event.params.current, event.block);
  const from = event.params.from;
  recordRoleChange("ResolverTransferred", role, event.params.previous, event.params.current, from, event);
}

export function handleResolverRevoked(event: ResolverRevoked): void {
  const role = resolvedByName(event.params.role);
  revokeTenure(event.params.role, event.params.resolver, event.block);
  dropResolver(role, event.params.resolver, event.block);
  recordRoleChange("ResolverRevoked", role, event.params.resolver, null, null, event);
}

export function handleRulingsPaused(event: RulingsPaused): void {
  setRulingsPaused(true, event.block);
  recordChange("RulingsPaused", null, event.params.account, event);
}

export function handleRulingsUnpaused(event: RulingsUnpaused): void {
  setRulingsPaused(false, event.block);
  recordChange("RulingsUnpaused", null, event.params.account, event);
}

export function handleEIP712DomainChanged(event: EIP712DomainChanged): void {
  recordChange("EIP712DomainChanged", null, null, event);
}

export function handleUpgraded(event: Upgraded): void {
  upgradeContract(CONTRACT, event.params.implementation, event);
}

export function handleInitialized(event: Initialized): void {
  setVersion(CONTRACT, event.params.version, event);
}

export function handleOwnershipTransferStarted(event: OwnershipTransferStarted): void {
  proposeOwner(CONTRACT, event.params.previousOwner, event.params.newOwner, event);
}

export function handleOwnershipTransferred(event: OwnershipTransferred): void {
  setOwner(CONTRACT, event.params.previousOwner, event.params.newOwner, event);
}
