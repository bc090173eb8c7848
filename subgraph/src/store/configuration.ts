import { Address, ethereum } from "@graphprotocol/graph-ts";

import { Configuration } from "../../generated/schema";
import { protocolId } from "../ids";
import { holderOrNull } from "./holders";

/** Records who receives the fees of new escrows. */
export function setTreasury(treasury: Address, block: ethereum.Block): void {
  const configuration = loadOrCreate(block);
  configuration.treasury = treasury;
  configuration.save();
}

/** Records who may stop new escrows and rulings; nobody is proposed any more. */
export function setPauser(pauser: Address, block: ethereum.Block): void {
  const configuration = loadOrCreate(block);
  configuration.pauser = pauser;
  configuration.pendingPauser = null;
  configuration.save();
}

/** Records who is proposed as pauser. */
export function setPendingPauser(pending: Address, block: ethereum.Block): void {
  const configuration = loadOrCreate(block);
  configuration.pendingPauser = holderOrNull(pending);
  configuration.save();
}

/** Records whether new escrows are stopped. */
export function setPaused(paused: boolean, block: ethereum.Block): void {
  const configuration = loadOrCreate(block);
  configuration.paused = paused;
  configuration.save();
}

/** Records whether rulings are stopped. */
export function setRulingsPaused(paused: boolean, block: ethereum.Block): void {
  const configuration = loadOrCreate(block);
  configuration.rulingsPaused = paused;
  configuration.save();
}

/** Records who holds a resolver role; nobody is proposed for it any more. */
export function setResolver(role: string, resolver: Address, block: ethereum.Block): void {
  const configuration = loadOrCreate(block);
  if (role == "System") {
    configuration.systemResolver = resolver;
    configuration.pendingSystemResolver = null;
  } else {
    configuration.adminResolver = resolver;
    configuration.pendingAdminResolver = null;
  }
  configuration.save();
}

/** Records who is proposed for a resolver role. */
export function setPendingResolver(role: string, pending: Address, block: ethereum.Block): void {
  const configuration = loadOrCreate(block);
  if (role == "System") configuration.pendingSystemResolver = holderOrNull(pending);
  else configuration.pendingAdminResolver = holderOrNull(pending);
  configuration.save();
}

/** Takes a resolver role from a wallet; a wallet that doesn't hold it now has nothing to lose here. */
export function dropResolver(role: string, resolver: Address, block: ethereum.Block): void {
  const configuration = loadOrCreate(block);
  const holder = role == "System" ? configuration.systemResolver : configuration.adminResolver;
  if (!holder || !holder.equals(resolver)) return;
  if (role == "System") configuration.systemResolver = null;
  else configuration.adminResolver = null;
  configuration.save();
}

function loadOrCreate(block: ethereum.Block): Configuration {
  let configuration = Configuration.load(protocolId());
  if (configuration == null) {
    configuration = new Configuration(protocolId());
    configuration.paused = false;
    configuration.rulingsPaused = false;
  }
  configuration.updatedBlock = block.number;
  return configuration;
}
