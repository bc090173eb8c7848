// The checks that need types: tsc, eslint and unused members. They share one program, because each would otherwise read every
// file and compute every type again.
import { join } from "node:path";

import { ESLint } from "eslint";
import ts from "typescript";

import { readArguments } from "../command/arguments.ts";
import { unusedMembers } from "./unused-members.ts";

const HELP = `usage: node scripts/quality/typed.ts [--help]

Checks the types of all sources, lints them, and finds methods that nothing calls.
  --help   this text`;

readArguments(HELP, {});

const ROOT = process.cwd();

function programOf(folder: string): ts.Program {
  const file = join(folder, "tsconfig.json");
  const { config } = ts.readConfigFile(file, (path) => ts.sys.readFile(path)) as { config: unknown };
  const { fileNames, options, errors } = ts.parseJsonConfigFileContent(config, ts.sys, folder);
  // eslint's rules walk from a node to its parents.
  const host = ts.createCompilerHost(options, true);
  return ts.createProgram({ rootNames: fileNames, options, host, configFileParsingDiagnostics: errors });
}

const program = programOf(ROOT);
/** The web pages have a browser's types, which nothing else may see. */
const programs = [program, programOf(join(ROOT, "web"))];

const diagnostics = programs.flatMap((one) => [
  ...one.getConfigFileParsingDiagnostics(),
  ...one.getOptionsDiagnostics(),
  ...one.getGlobalDiagnostics(),
  ...one.getSyntacticDiagnostics(),
  ...one.getSemanticDiagnostics(),
]);
if (diagnostics.length > 0) {
  const names = {
    getCanonicalFileName: (name: string) => name,
    getCurrentDirectory: () => ROOT,
    getNewLine: () => "\n",
  };
  console.error(ts.formatDiagnostics(diagnostics, names));
}

const eslint = new ESLint({
  overrideConfig: [
    { files: ["**/*.{ts,tsx}"], languageOptions: { parserOptions: { projectService: false, programs } } },
  ],
});
const linted = await eslint.lintFiles(["."]);
const formatter = await eslint.loadFormatter("stylish");
const report = await formatter.format(linted);
if (report !== "") console.error(report);

const unused = unusedMembers(program, ROOT);
for (const line of unused) console.error(line);

const isClean = linted.every(({ errorCount, warningCount }) => errorCount + warningCount === 0);
process.exitCode = diagnostics.length === 0 && isClean && unused.length === 0 ? 0 : 1;
