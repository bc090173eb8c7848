import type { ComponentChildren } from "preact";

import type { Transaction } from "../../../sdk/src/generated/api-types.ts";
import { ownDealAddress } from "../data/owner-place.ts";
import { ViewLink } from "../parts/live.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";

const TITLE_LENGTH = 80;

/** A link to another page of the owner, which doesn't load them again. */
export function OwnLink({ to, children }: { to: string; children: ComponentChildren }) {
  return (
    <ViewLink to={to} isCurrent={false}>
      {children}
    </ViewLink>
  );
}

/** What a deal is about: a stranger's text. */
export function DealTitle({ title }: { title: string | null }) {
  return title === null ? <>A deal without a listing</> : <StrangersText text={title} max={TITLE_LENGTH} />;
}

/** A deal's name, with a link to its page. */
export function DealLink({ deal: { transactionId, serviceTitle } }: { deal: Transaction }) {
  return (
    <OwnLink to={ownDealAddress(transactionId)}>
      <DealTitle title={serviceTitle} />
    </OwnLink>
  );
}
