import { addressesJudge } from "../prompt-injection.ts";
import { collectPassages, showOnly } from "./passages.ts";
import type { Passage } from "./passages.ts";
import { FILLER } from "./service-texts.ts";
import type { Session } from "./session.ts";
import type { Shown } from "./view.ts";

/** Looks at passages that seem harmless, before they are taken for harmless. */
const LOOKS = 2;
/** Looks that a single passage is given to prove that it breaks the controls. */
const LAST_LOOKS = 3;

/**
 * Finds the passage that makes the model answer the controls wrongly; undefined if there is none. It halves the shown texts
 * and tests each half beside the service's own text, until one passage alone breaks the controls. If an order is spread over
 * several passages, it finds the last of them.
 */
export async function findPassage(
  session: Session,
  shown: readonly Shown[],
  statement: string,
): Promise<Passage | undefined> {
  async function breaks(some: readonly Passage[], most: number): Promise<boolean> {
    const ids = new Set(some.map(({ id }) => id));
    const view = { shown: [FILLER, ...showOnly(shown, (id) => ids.has(id))], statements: [statement] };
    for (let count = 0; count < most && session.left() > 0; count += 1) {
      const look = await session.look(view, count % 2 === 0 ? "result_first" : "result_last");
      if (look?.[0]?.isSound === false) return true;
    }
    return false;
  }

  /** Halves passages that break the controls together. */
  async function narrowed(all: readonly Passage[]): Promise<Passage | undefined> {
    let rest = all;
    while (rest.length > 1) {
      const middle = Math.ceil(rest.length / 2);
      const first = rest.slice(0, middle);
      rest = (await breaks(first, LOOKS)) ? first : rest.slice(middle);
    }
    const [only] = rest;
    return only !== undefined && (await breaks([only], LAST_LOOKS)) ? only : undefined;
  }

  /** The last part of an order whose parts stand apart: the shortest beginning that breaks the controls ends with it. */
  async function lastPart(all: readonly Passage[]): Promise<Passage | undefined> {
    let [harmless, breaking] = [0, all.length];
    while (breaking - harmless > 1) {
      const middle = Math.ceil((harmless + breaking) / 2);
      if (await breaks(all.slice(0, middle), LOOKS)) breaking = middle;
      else harmless = middle;
    }
    return (await breaks(all.slice(0, breaking), LAST_LOOKS)) ? all[breaking - 1] : undefined;
  }

  const passages = collectPassages(shown);
  // Those that look like an order are tried first. Nothing is left out because of its looks.
  const suspects = passages.filter(({ text }) => addressesJudge(text));
  if (suspects.length > 0 && suspects.length < passages.length && (await breaks(suspects, LOOKS))) {
    const found = await narrowed(suspects);
    if (found !== undefined) return found;
  }
  return (await narrowed(passages)) ?? (session.left() > 0 ? lastPart(passages) : undefined);
}
