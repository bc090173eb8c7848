import type { SubjectType } from "../data/operator-place.ts";
import { Hash } from "../parts/hash.tsx";

/** What a decision is about, by its id. Pages of agents are found by wallets, so an agent has no link. */
export function Subject({ subject: { type, id } }: { subject: { type: SubjectType; id: string } }) {
  const link = type === "listing" ? { to: `/listings/${encodeURIComponent(id)}`, isApart: true } : {};
  return (
    <>
      {type} <Hash value={id} what={`the ${type}'s id`} {...link} />
    </>
  );
}
