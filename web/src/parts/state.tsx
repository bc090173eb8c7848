import type { StateWords } from "../words/states.ts";

/** A state as a coloured word. @param name shown for a state that has no words */
export function State({ words, name }: { words: StateWords | undefined; name: string }) {
  return <span class={`state ${words?.tone ?? "plain"}`}>{words?.name ?? name}</span>;
}
