import type { ApiMutant } from "./api-mutant.ts";

const TIMELINE = "features/timeline/timeline.ts";
const SOURCES = "features/timeline/sources.ts";
const QUEUE = "features/transactions/queue-routes.ts";
const PAGES = "db/pages.ts";
const TIMELINE_PAGES = ["timeline/pages.test.ts"];
const QUEUE_PAGES = ["transactions/job-queue-pages.test.ts"];

/** Faults in timelines, in the seller's queue, and in what all lists with cursors share. */
export const LIST_FAULTS: ApiMutant[] = [
  {
    fault: "a page of a timeline skips what happened at the same moment as the last entry",
    file: TIMELINE,
    from: "compare(entry, cursor) > 0",
    to: "entry.at > cursor.at",
    tests: TIMELINE_PAGES,
  },
  {
    fault: "a timeline has another page when its last one is full",
    file: TIMELINE,
    from: "if (rest.length <= limit || last === undefined)",
    to: "if (rest.length < limit || last === undefined)",
    tests: TIMELINE_PAGES,
  },
  {
    fault: "a timeline counts attempts from 0",
    file: SOURCES,
    from: "proof: { deliveryId: _id, eventId, attempt: index + 1,",
    to: "proof: { deliveryId: _id, eventId, attempt: index,",
    tests: TIMELINE_PAGES,
  },
  {
    fault: "a timeline swaps the sides of messages",
    file: SOURCES,
    from: "title: fromAgentId === agentId ?",
    to: "title: fromAgentId !== agentId ?",
    tests: TIMELINE_PAGES,
  },
  {
    fault: "a seller's queue has what it bought, too",
    file: QUEUE,
    from: 'role: "seller", withoutResponses: true',
    to: "withoutResponses: true",
    tests: QUEUE_PAGES,
  },
  {
    fault: "every page of a seller's queue is the first",
    file: QUEUE,
    from: "after: cursor?.after }",
    to: "after: cursor && undefined }",
    tests: QUEUE_PAGES,
  },
  {
    fault: "a seller's queue ignores the wanted network",
    file: QUEUE,
    from: "const asked = { ...filter,",
    to: "const asked = { ...filter, network: undefined,",
    tests: QUEUE_PAGES,
  },
  {
    fault: "a page that its bytes end is the last",
    file: PAGES,
    from: "next: page.length < found.length ?",
    to: "next: found.length > limit ?",
    tests: ["messages/page-bytes.test.ts", "webhooks/redeliveries.test.ts"],
  },
  {
    fault: "a page of records skips the first of the next page",
    file: PAGES,
    from: "(ids.at(-1) ?? null) : null",
    to: "(found.at(-1)?._id ?? null) : null",
    tests: ["messages/direct.test.ts", "messages/page-bytes.test.ts"],
  },
  {
    fault: "a record that is larger than a page is left out",
    file: PAGES,
    from: "return index > 0 && sum > PAGE_BYTES;",
    to: "return sum > PAGE_BYTES;",
    tests: ["db/pages.test.ts"],
  },
  {
    fault: "a page of deliveries skips those of the same millisecond",
    file: "features/webhooks/dispatches/log.ts",
    from: "{ createdAt, _id: { $lt: cursor.id } }",
    to: "{ createdAt: { $lt: createdAt }, _id: { $lt: cursor.id } }",
    tests: ["webhooks/delivery-pages.test.ts"],
  },
];
