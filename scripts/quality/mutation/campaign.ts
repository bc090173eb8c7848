// The shared parts of the mutation runs: copies of the project, verdicts that outlive an interruption, and the report.
import { createHash } from "node:crypto";
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { wholeNumber } from "../../command/arguments.ts";
import type { Mutant } from "./mutant.ts";

/** The options of every mutation run, for `readArguments`. */
export const CAMPAIGN_OPTIONS = {
  lanes: { type: "string", default: "2" },
  only: { type: "string", multiple: true },
  resume: { type: "boolean" },
  json: { type: "boolean" },
} as const;

/** Their help. */
export const CAMPAIGN_HELP = `  --lanes N     copies that run concurrently (2)
  --only TEXT   only the faults whose description or file contains the text; may be given several times
  --resume      keep the verdicts of an interrupted run for unchanged faults and sources
  --json        one JSON object at the end`;

/** The values of the options. */
export interface CampaignValues {
  lanes: string;
  only?: string[] | undefined;
  resume?: boolean | undefined;
  json?: boolean | undefined;
}

/** A list of faults and how they are looked for. */
export interface Campaign<M extends Mutant> {
  /** Folder for the copies and the verdicts. */
  home: string;
  /** Folder of the sources that get the faults. */
  root: string;
  /** Paths that are copied where they exist; packages are linked. */
  copied: readonly string[];
  /** Globs of the files that the verdict on a fault depends on. */
  sourcesOf: (mutant: M) => readonly string[];
  mutants: readonly M[];
  /** Runs before the copies are made. */
  prepare?: (say: (text: string) => void) => Promise<void>;
  /** Runs before the first fault; the copies have none yet. */
  begin?: (lanes: readonly string[], say: (text: string) => void) => Promise<void>;
  /** Runs the tests in a copy with the fault until one fails, and returns its name; undefined if none does. */
  find: (lane: string, mutant: M) => Promise<string | undefined>;
  /** Throws if that test fails without the fault too. */
  confirm?: (lane: string, foundBy: string) => Promise<void>;
}

/** The verdict on a fault. */
interface Verdict {
  fault: string;
  file: string;
  /** The test that found it; undefined for a survivor. */
  foundBy: string | undefined;
  /** Output of the test runner if it crashed twice, which leaves no verdict. */
  crash?: string;
  seconds: number;
}

const MOST_LANES = 64;

/** The faults that `--only` leaves. */
export function chosenOf<M extends Mutant>(mutants: readonly M[], { only = [""] }: Pick<CampaignValues, "only">): M[] {
  return mutants.filter(({ fault, file }) => only.some((text) => `${fault} ${file}`.includes(text)));
}

/** Runs a campaign and returns whether every fault was found. */
export async function runCampaign<M extends Mutant>(campaign: Campaign<M>, values: CampaignValues): Promise<boolean> {
  const { home } = campaign;
  const found = new FoundFaults(campaign);
  const say = (text: string): void => {
    if (values.json !== true) console.log(text);
  };
  const chosen = chosenOf(campaign.mutants, values);
  if (chosen.length === 0) throw new Error("no fault matches --only");
  for (const mutant of chosen) withFault(readFileSync(join(campaign.root, mutant.file), "utf8"), mutant);
  await campaign.prepare?.(say);

  const laneCount = Math.min(wholeNumber("--lanes", values.lanes, 1, MOST_LANES), chosen.length);
  const lanes = Array.from({ length: laneCount }, (_, index) => makeLane(campaign, index));
  const verdicts = values.resume === true ? found.load(chosen) : [];
  const queue = chosen.filter(({ fault }) => !verdicts.some((verdict) => verdict.fault === fault));
  if (verdicts.length > 0) say(`${verdicts.length} were found by the run before`);
  say(`${queue.length} faults, ${lanes.length} copies under ${home}`);
  await campaign.begin?.(lanes, say);

  const started = performance.now();
  await Promise.all(
    lanes.map(async (lane) => {
      for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
        const verdict = await judge(campaign, lane, mutant);
        verdicts.push(verdict);
        if (verdict.foundBy !== undefined) found.add(mutant, verdict);
        say(
          `${verdicts.length}/${chosen.length} ${verdict.file}: ${verdict.fault}\n` +
            `      ${resultOf(verdict)} (${verdict.seconds.toFixed(0)} s)`,
        );
      }
    }),
  );
  return report(verdicts, (performance.now() - started) / 1_000, values.json === true);
}

function makeLane({ home, copied }: Pick<Campaign<Mutant>, "home" | "copied">, number: number): string {
  const lane = join(home, `lane-${number}`);
  rmSync(lane, { recursive: true, force: true });
  mkdirSync(lane, { recursive: true });
  for (const part of copied) {
    if (existsSync(part)) cpSync(part, join(lane, part), { recursive: true });
  }
  symlinkSync(resolve("node_modules"), join(lane, "node_modules"));
  return lane;
}

/** The source with the fault. Throws when the fault no longer matches the source. */
export function withFault(source: string, mutant: Mutant): string {
  const parts = source.split(mutant.from);
  if (parts.length !== 2) {
    throw new Error(`${mutant.file} holds "${mutant.from}" ${parts.length - 1} times instead of once: fix the list`);
  }
  return parts.join(mutant.to);
}

async function judge<M extends Mutant>(campaign: Campaign<M>, lane: string, mutant: M): Promise<Verdict> {
  const started = performance.now();
  const path = join(lane, campaign.root, mutant.file);
  const original = readFileSync(path, "utf8");
  writeFileSync(path, withFault(original, mutant));
  const verdict = (result: Pick<Verdict, "foundBy" | "crash">): Verdict => ({
    fault: mutant.fault,
    file: mutant.file,
    ...result,
    seconds: (performance.now() - started) / 1_000,
  });
  const restore = (): void => {
    writeFileSync(path, original);
  };
  try {
    // On a loaded machine a runner may crash; one fault without a verdict shouldn't lose the hour of the others.
    const foundBy = await campaign.find(lane, mutant).catch(() => campaign.find(lane, mutant));
    restore();
    if (foundBy !== undefined) await campaign.confirm?.(lane, foundBy);
    return verdict({ foundBy });
  } catch (error) {
    return verdict({ foundBy: undefined, crash: error instanceof Error ? error.message : String(error) });
  } finally {
    restore();
  }
}

function resultOf({ foundBy, crash }: Verdict): string {
  if (crash !== undefined) return `✗ NO VERDICT: ${crash}`;
  return foundBy === undefined ? "✗ SURVIVES" : `✓ ${foundBy}`;
}

/** The faults found so far. A verdict holds only for the same fault and the same sources. */
class FoundFaults<M extends Mutant> {
  readonly #path: string;
  readonly #sourcesOf: Campaign<M>["sourcesOf"];
  /** Contents of the files of a glob. */
  readonly #contents = new Map<string, string>();
  #found: Record<string, Verdict> = {};

  constructor({ home, sourcesOf }: Pick<Campaign<M>, "home" | "sourcesOf">) {
    this.#path = join(home, "found.json");
    this.#sourcesOf = sourcesOf;
  }

  #readContents(glob: string): string {
    const known = this.#contents.get(glob);
    if (known !== undefined) return known;
    const files = globSync(glob).sort();
    const contents = files.map((file) => readFileSync(file, "utf8")).join("\0");
    this.#contents.set(glob, contents);
    return contents;
  }

  #hashMutant(mutant: M): string {
    const hash = createHash("sha256").update(JSON.stringify(mutant));
    for (const glob of this.#sourcesOf(mutant)) hash.update(this.#readContents(glob));
    return hash.digest("hex");
  }

  /** The verdicts of earlier runs on these faults. */
  load(mutants: readonly M[]): Verdict[] {
    if (existsSync(this.#path)) this.#found = JSON.parse(readFileSync(this.#path, "utf8")) as Record<string, Verdict>;
    return mutants.flatMap((mutant) => this.#found[this.#hashMutant(mutant)] ?? []);
  }

  add(mutant: M, verdict: Verdict): void {
    this.#found[this.#hashMutant(mutant)] = verdict;
    writeFileSync(this.#path, JSON.stringify(this.#found, undefined, 2));
  }
}

function report(verdicts: readonly Verdict[], seconds: number, isJson: boolean): boolean {
  const survivors = verdicts.filter(({ foundBy }) => foundBy === undefined);
  if (isJson) console.log(JSON.stringify({ faults: verdicts.length, survivors, seconds, verdicts }));
  else {
    console.log(
      `\n${verdicts.length - survivors.length} of ${verdicts.length} faults found in ${seconds.toFixed(0)} s`,
    );
    for (const { fault, file, crash } of survivors) {
      console.log(`${crash === undefined ? "survivor" : "no verdict"}: ${file}: ${fault}`);
    }
  }
  return survivors.length === 0;
}
