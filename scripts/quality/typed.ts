// The checks that need types: tsc, eslint and unused members. They share one program, because each would otherwise read every
// file and compute every type again.
import { ESLint } from "eslint";
import ts from "typescript";

import { readArguments } from "../command/arguments.ts";
import { unusedMembers } from "./unused-members.ts";

const HELP = `usage: node scripts/quality/typed.ts [--help]

Checks the types of all sources, lints them, and finds methods that nothing calls.
  --help   this text`;

readArguments(HELP, {});

const ROOT = process.cwd();
const { config } = ts.readConfigFile("tsconfig.json", (file) => ts.sys.readFile(file)) as { config: unknown };
const { fileNames, options, errors } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
// eslint's rules walk from a node to its parents.
const host = ts.createCompilerHost(options, true);
const program = ts.createProgram({ rootNames: fileNames, options, host, configFileParsingDiagnostics: errors });

const diagnostics = [
  ...program.getConfigFileParsingDiagnostics(),
  ...program.getOptionsDiagnostics(),
  ...program.getGlobalDiagnostics(),
  ...program.getSyntacticDiagnostics(),
  ...program.getSemanticDiagnostics(),
];
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
    { files: ["**/*.ts"], languageOptions: { parserOptions: { projectService: false, programs: [program] } } },
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
