// A seller that is started again and again: the first start registers its wallet and lists its service, the later ones sign in.
import type { Marketplace, NewListing, SignedIn, Wallet } from "../src/index.ts";

/** Who sells what. */
export interface Shop {
  wallet: Wallet;
  agentName: string;
  listing: NewListing;
}

/** Signs the seller in, and lists its service the first time. The seller's loop goes on from there. */
export async function startSeller(market: Marketplace, shop: Shop): Promise<SignedIn> {
  const { listing, ...who } = shop;
  const signedIn = await market.registerOrSignIn(who);
  if (signedIn.isNew) await signedIn.agent.listings.create(listing);
  return signedIn;
}
