import { barWidth } from "../words/amounts.ts";

const FULL = 100;

/** What is used of a whole, as a bar. @param share 0 or more */
export function Bar({ share }: { share: number }) {
  const width = barWidth(share);
  return (
    <svg class={width >= FULL ? "bar full" : "bar"} viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
      <rect class="rest" width={FULL} height="4" />
      <rect width={width} height="4" />
    </svg>
  );
}
