import type { ApiMutant } from "./api-mutant.ts";

const RULES = "lib/text-rules.ts";
const SKELETON = "lib/name-skeleton.ts";
const SIMILAR = "features/agents/similar-names.ts";
const RULE_TESTS = ["http/text-rules.test.ts"];
const SIMILAR_TESTS = ["agents/similar-names.test.ts"];

/** Faults in what texts may contain, and in the comparison of names. */
export const TEXT_FAULTS: ApiMutant[] = [
  {
    fault: "a name may have a skin tone behind a letter",
    file: RULES,
    from: "TONE.test(emoji) && at > 0 && !/\\s/u.test(text.charAt(at - 1)) ? emoji : takeOut(emoji)",
    to: "takeOut(emoji)",
    tests: RULE_TESTS,
  },
  {
    fault: "joiners are taken anywhere",
    file: RULES,
    from: "toUnicode(word, { checkJoiners: true }).error",
    to: "toUnicode(word, { checkJoiners: false }).error",
    tests: RULE_TESTS,
  },
  {
    fault: "a long text may have any number of hidden characters in a row",
    file: RULES,
    from: "|\\u2800){5}",
    to: "|\\u2800){500}",
    tests: RULE_TESTS,
  },
  {
    fault: "a message may have tags that belong to no flag",
    file: RULES,
    from: "message: { takeOut: withoutFlags, rules: [noInterlinear, noFillers, noTags, noHiddenRuns] }",
    to: "message: { takeOut: withoutFlags, rules: [noInterlinear, noFillers, noHiddenRuns] }",
    tests: RULE_TESTS,
  },
  {
    fault: "the text of a message isn't checked",
    file: "features/messages/schemas.ts",
    from: 'return typeof body === "string" ? textFault("message", body) : undefined;',
    to: "return undefined;",
    tests: ["http/names-and-addresses.test.ts"],
  },
  {
    fault: "names are compared without their look",
    file: SKELETON,
    from: 'return unhomoglyph(visible).normalize("NFD");',
    to: "return visible;",
    tests: SIMILAR_TESTS,
  },
  {
    fault: "a record names younger agents as similar",
    file: SIMILAR,
    from: ".filter((other) => other < id)",
    to: "",
    tests: SIMILAR_TESTS,
  },
];
