import type { ListingModel } from "./model.ts";

/** Where sellers want the webhooks of their listings. */
export interface EndpointDirectory {
  /** endpointUrl by listing id, those that have one, in one query. */
  endpointUrls(serviceIds: readonly string[]): Promise<Map<string, string>>;
}

/** The addresses that the listings of the database name at this moment. */
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
