import type { Provider } from "ethers";
import { AbiCoder, dataSlice, getAddress, keccak256 } from "ethers";

import { EscrowV2__factory } from "../../typechain-types/factories/contracts/EscrowV2__factory.ts";
import type { Deployment } from "../system/deployment-file.ts";
import type { Difference } from "./check.ts";
import { refusalOf } from "./check.ts";

/** Where the escrow contract keeps its data, and the places of two fields in it (EscrowStorage.sol). */
const ESCROW_STORAGE = 0x96c5879cbfbd63a51be880377b7967994a4ebdbf41791ed2976aa04d1f493000n;
const TOKEN_AT_SLOT = ESCROW_STORAGE + 8n;
const TOKEN_COUNT_SLOT = ESCROW_STORAGE + 9n;
/** The contract lists no more than this (MAX_TOKEN_INDEX), so a higher count isn't one. */
const TOKENS_AT_MOST = 31n;
const ADDRESS_OFFSET = 12;

/**
 * The addresses of the tokens that new escrows may use, in the order of their first listing. The contract has no view of
 * its list, so this reads its storage.
 * @returns undefined if the storage doesn't hold a list
 */
export async function listedTokens(provider: Provider, escrowProxy: string): Promise<string[] | undefined> {
  const count = BigInt(await provider.getStorage(escrowProxy, TOKEN_COUNT_SLOT));
  if (count > TOKENS_AT_MOST) return undefined;
  const escrow = EscrowV2__factory.connect(escrowProxy, provider);
  const listed: string[] = [];
  for (let index = 1n; index <= count; index += 1n) {
    const slot = keccak256(AbiCoder.defaultAbiCoder().encode(["uint256", "uint256"], [index, TOKEN_AT_SLOT]));
    const address = getAddress(dataSlice(await provider.getStorage(escrowProxy, slot), ADDRESS_OFFSET));
    // A delisted token keeps its place.
    if ((await escrow.tokenConfig(address)).listed) listed.push(address);
  }
  return listed;
}

/**
 * Compares the list of tokens with the file's: a token that the owner has listed since accepts deposits, so an operator
 * must know about it. Only the check reports it: a repeated deployment and an upgrade go on.
 */
export async function findTokenListDifferences(
  provider: Provider,
  { contracts, tokens }: Deployment,
): Promise<Difference[]> {
  const known = new Set(tokens.map(({ address }) => getAddress(address)));
  const listed = await listedTokens(provider, contracts.escrow.proxy).catch(refusalOf);
  const fact = { fact: "listed tokens that the file lacks", expected: "none" };
  if (!Array.isArray(listed)) return [{ ...fact, actual: `not to be read (${listed ?? "the storage has no list"})` }];
  const lacking = listed.filter((address) => !known.has(address));
  return lacking.length === 0 ? [] : [{ ...fact, actual: lacking.join(", ") }];
}
