import { Address, BigInt, ethereum } from "@graphprotocol/graph-ts";

import { Contract } from "../../generated/schema";
import { recordChange, recordVersion } from "./administration";
import { holderOrNull } from "./holders";

/** Records the code that a proxy runs. The first one isn't an upgrade. */
export function upgradeContract(name: string, implementation: Address, event: ethereum.Event): void {
  const contract = loadOrCreate(name, event);
  const previous = holderOrNull(contract.implementation);
  if (previous) contract.upgrades += 1;
  contract.implementation = implementation;
  contract.save();
  recordChange("Upgraded", previous, implementation, event);
}

/** Records that an initializer ran. */
export function setVersion(name: string, version: BigInt, event: ethereum.Event): void {
  const contract = loadOrCreate(name, event);
  contract.version = version;
  contract.save();
  recordVersion(version, event);
}

/** Records who is to own a contract, once it accepts. */
export function proposeOwner(name: string, owner: Address, pending: Address, event: ethereum.Event): void {
  const contract = loadOrCreate(name, event);
  contract.pendingOwner = holderOrNull(pending);
  contract.save();
  recordChange("OwnershipTransferStarted", owner, pending, event);
}

/** Records who owns a contract. */
export function setOwner(name: string, previous: Address, owner: Address, event: ethereum.Event): void {
  const contract = loadOrCreate(name, event);
  contract.owner = holderOrNull(owner);
  contract.pendingOwner = null;
  contract.save();
  recordChange("OwnershipTransferred", previous, owner, event);
}

function loadOrCreate(name: string, event: ethereum.Event): Contract {
  let contract = Contract.load(event.address);
  if (contract == null) {
    contract = new Contract(event.address);
    contract.name = name;
    contract.implementation = Address.zero();
    contract.upgrades = 0;
    contract.version = BigInt.zero();
  }
  contract.updatedBlock = event.block.number;
  return contract;
}
