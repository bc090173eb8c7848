/** Share of documents without a vector of the new model with which its index may answer. */
const PENDING_SHARE = 0.01;

/**
 * Whether an index of a new model's vectors may answer. The documents that have none yet are found by their words.
 * @param pending how many have none
 * @param total how many there are; only asked for if any are pending
 */
export async function isMostlyEmbedded(pending: number, total: () => Promise<number>): Promise<boolean> {
  return pending === 0 || pending < PENDING_SHARE * (await total());
}
