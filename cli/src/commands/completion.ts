import { Argument } from "commander";
import type { Command } from "commander";

import type { Runtime } from "../runtime.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

/** Words that may follow a chain of commands: further commands and options. */
interface Step {
  /** For example `messages send`; empty for the program itself. */
  path: string;
  words: { word: string; description: string }[];
}

const NAME = "agent-marketplace";

/** Adds `completion`, which writes a script for a shell. */
export function addCompletion(program: Command, runtime: Runtime): void {
  program
    .command("completion")
    .description("write the completions for a shell")
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .addHelpText(
      "after",
      `
bash: ${NAME} completion bash > ~/.local/share/bash-completion/completions/${NAME}
zsh:  ${NAME} completion zsh > a file _${NAME} in a folder of $fpath
fish: ${NAME} completion fish > ~/.config/fish/completions/${NAME}.fish`,
    )
    .action((shell: Shell) => {
      runtime.stdout.write(SCRIPTS[shell](stepsOf(program, "")));
    });
}

function stepsOf(command: Command, path: string): Step[] {
  const commands = command.commands.map((child) => ({ word: child.name(), description: child.description() }));
  const options = command.createHelp().visibleOptions(command);
  const flags = options.flatMap(({ long, description }) => (long === undefined ? [] : [{ word: long, description }]));
  const step = { path, words: [...commands, ...flags] };
  const below = command.commands.flatMap((child) => stepsOf(child, `${path} ${child.name()}`.trim()));
  return [step, ...below];
}

/** Names of commands and options have no other characters, so that nothing needs quoting. */
const wordsOf = ({ words }: Step): string => words.map(({ word }) => word).join(" ");
const quoted = (text: string): string => text.replaceAll("'", "’");

/** Reads the commands before the cursor, and offers what may follow them. Values of options are completed as files. */
function bash(steps: readonly Step[]): string {
  const cases = steps.map((step) => `    '${step.path}') words='${wordsOf(step)}' ;;`);
  return `# Completions of ${NAME} for bash.
_agent_marketplace() {
  local current=\${COMP_WORDS[COMP_CWORD]} path='' next words word index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    next="\${path:+$path }$word"
    case $next in
      ${steps.flatMap(({ path }) => (path === "" ? [] : [`'${path}'`])).join("|")}) path=$next ;;
    esac
  done
  case $path in
${cases.join("\n")}
    *) words='' ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _agent_marketplace ${NAME}
`;
}

function zsh(steps: readonly Step[]): string {
  const cases = steps.map(({ path, words }) => {
    const lines = words.map(
      ({ word, description }) => `        '${word}:${quoted(description).replaceAll(":", "\\:")}'`,
    );
    return `    '${path}')\n      words_here=(\n${lines.join("\n")}\n      ) ;;`;
  });
  return `#compdef ${NAME}
# Completions of ${NAME} for zsh.
_agent_marketplace() {
  local path_here='' next word
  local -a words_here
  for word in "\${words[@]:1:$((CURRENT - 2))}"; do
    next="\${path_here:+$path_here }$word"
    case $next in
      ${steps.flatMap(({ path }) => (path === "" ? [] : [`'${path}'`])).join("|")}) path_here=$next ;;
    esac
  done
  case $path_here in
${cases.join("\n")}
  esac
  _describe '${NAME}' words_here || _files
}
compdef _agent_marketplace ${NAME}
`;
}

function fish(steps: readonly Step[]): string {
  const lines = steps.flatMap(({ path, words }) => {
    const names = path.split(" ").filter((name) => name !== "");
    const before = names.map((name) => `__fish_seen_subcommand_from ${name}`);
    const children = words.filter(({ word }) => !word.startsWith("--")).map(({ word }) => word);
    const notYet = children.length === 0 ? [] : [`not __fish_seen_subcommand_from ${children.join(" ")}`];
    const condition = [...before, ...notYet].join("; and ");
    return words.map(({ word, description }) => {
      const what = word.startsWith("--") ? `-l ${word.slice(2)}` : `-a ${word}`;
      const when = condition === "" ? "" : ` -n '${condition}'`;
      return `complete -c ${NAME}${when} ${what} -d '${quoted(description)}'`;
    });
  });
  return `# Completions of ${NAME} for fish.\n${lines.join("\n")}\n`;
}

const SCRIPTS: Readonly<Record<Shell, (steps: readonly Step[]) => string>> = { bash, zsh, fish };
