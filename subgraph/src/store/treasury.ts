import { BigInt, ethereum } from "@graphprotocol/graph-ts";

import { Configuration, Escrow, TreasuryFees } from "../../generated/schema";
import { accountTokenId, protocolId } from "../ids";
import { feeUsdOf } from "./shares";

/** Adds the fee of a new escrow to those of the present treasury. */
export function addFee(escrow: Escrow, block: ethereum.Block): void {
  const configuration = Configuration.load(protocolId());
  if (configuration == null) return;
  const treasury = configuration.treasury;
  if (!treasury) return;
  const id = accountTokenId(treasury, escrow.token);
  let fees = TreasuryFees.load(id);
  if (fees == null) {
    fees = new TreasuryFees(id);
    fees.treasury = treasury;
    fees.token = escrow.token;
    fees.escrows = 0;
    fees.fees = BigInt.zero();
    fees.feesUsd = BigInt.zero();
  }
  fees.escrows += 1;
  fees.fees = fees.fees.plus(escrow.fee);
  fees.feesUsd = fees.feesUsd.plus(feeUsdOf(escrow));
  fees.updatedBlock = block.number;
  fees.save();
}
