import { Notice } from "../parts/notice.tsx";
import { Time } from "../parts/time.tsx";
import type { Ready } from "./ready.ts";

/** Says that the state of the service isn't there yet, or is old. */
export function ReadyNotice({ of: { data, isFailed, readAt } }: { of: Ready }) {
  if (!isFailed) return data === undefined ? <p class="aside">Reading the state of every part…</p> : null;
  return (
    <Notice tone="care">
      The service doesn't say how its parts are. This page asks again every 15 seconds.{" "}
      {data !== undefined && (
        <>
          What you see is from <Time at={readAt} />.
        </>
      )}
    </Notice>
  );
}
