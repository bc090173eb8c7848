import { remainderOf } from "../mandates/ledger.ts";
import { usdText } from "../mandates/usd.ts";
import type { ListedKey } from "./keys.ts";

/**
 * A key as its owner sees it, without the key itself.
 * @param currentId id of the key that the request is made with; undefined for a page
 */
export function presentKey({ id, createdAt, expiresAt, mandate }: ListedKey, currentId: string | undefined, now: Date) {
  return {
    id,
    keyId: id,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt?.toISOString() ?? null,
    current: id === currentId,
    mandate: mandate === undefined ? null : presentMandate(mandate, now),
  };
}

function presentMandate(mandate: NonNullable<ListedKey["mandate"]>, now: Date) {
  const { perDealUsd, perDayUsd, totalUsd, categories, sellers, networks, requireCriteria, scopes } = mandate.terms;
  const { onExceeded = "refuse" } = mandate.terms;
  const left = remainderOf(mandate, now);
  return {
    perDealUsd: usdText(BigInt(perDealUsd)),
    perDayUsd: usdText(BigInt(perDayUsd)),
    totalUsd: usdText(BigInt(totalUsd)),
    categories,
    sellers,
    networks,
    requireCriteria,
    scopes,
    onExceeded,
    left: {
      perDealUsd: usdText(left.perDealUsd),
      todayUsd: usdText(left.todayUsd),
      totalUsd: usdText(left.totalUsd),
    },
    dayEndsAt: left.dayEndsAt.toISOString(),
    closed: mandate.closedAt !== null,
  };
}
