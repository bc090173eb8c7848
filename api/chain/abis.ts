/** The only file that imports the generated bindings; everything else imports the ABIs from here. */
import { IEscrow__factory } from "../../typechain-types/factories/contracts/interfaces/IEscrow__factory.ts";
import { IPriceFeed__factory } from "../../typechain-types/factories/contracts/interfaces/IPriceFeed__factory.ts";
import { IScore__factory } from "../../typechain-types/factories/contracts/interfaces/IScore__factory.ts";

/** Interface of the escrow contract. */
export const escrowAbi = IEscrow__factory.abi;
/** Interface of the score contract. */
export const scoreAbi = IScore__factory.abi;
/** Interface of a token's USD price feed. */
export const priceFeedAbi = IPriceFeed__factory.abi;
