import type { ListingModel } from "./model.ts";

/** The webhook addresses of listings. */
export interface EndpointDirectory {
  /** endpointUrl by listing id for the listings that have one, in one query. */
  endpointUrls(serviceIds: readonly string[]): Promise<Map<string, string>>;
}

/** Reads the current addresses from the stored listings. */
export function createEndpointDirectory(listings: ListingModel): EndpointDirectory {
  return {
    async endpointUrls(serviceIds) {
      const found = await listings
        .find({ _id: { $in: [...serviceIds] }, endpointUrl: { $ne: null } }, { endpointUrl: 1 })
        .lean();
      return new Map(found.flatMap(({ _id, endpointUrl }) => (endpointUrl === null ? [] : [[_id, endpointUrl]])));
    },
  };
}
