// The checks that need types: tsc, eslint and unused members. They share one program, because each would otherwise read every
// file and compute every type again. Product and tests are checked by a process each, side by side.
import { relative } from "node:path";

import { ESLint } from "eslint";
import ts from "typescript";

import { readArguments, refuseArguments } from "../command/arguments.ts";
import { unusedMembers } from "./unused-members.ts";

const PARTS = ["product", "tests"] as const;

const HELP = `usage: node scripts/quality/typed.ts ${PARTS.join("|")}

Checks the types of the product or of the tests and lints them. With the tests, also finds methods that nothing calls.
  --help   this text`;

const { positionals } = readArguments(HELP, {}, { allowPositionals: true });
const [part] = positionals;
if (positionals.length !== 1 || !PARTS.some((name) => name === part)) refuseArguments(`One of ${PARTS.join(", ")}.`);

const ROOT = process.cwd();
const isTest = (file: string): boolean => relative(ROOT, file).startsWith("test/");
const { config } = ts.readConfigFile("tsconfig.json", (file) => ts.sys.readFile(file)) as { config: unknown };
const { fileNames, options, errors } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
const rootNames = part === "tests" ? fileNames : fileNames.filter((file) => !isTest(file));
// eslint's rules walk from a node to its parents.
const host = ts.createCompilerHost(options, true);
const program = ts.createProgram({ rootNames, options, host, configFileParsingDiagnostics: errors });

const ofProduct = new Set(fileNames.filter((file) => !isTest(file)));
const diagnostics = [
  ...program.getConfigFileParsingDiagnostics(),
  ...program.getOptionsDiagnostics(),
  ...program.getGlobalDiagnostics(),
  ...program
    .getSourceFiles()
    .filter(({ fileName }) => part === "product" || !ofProduct.has(fileName))
    .flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]),
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
    ...(part === "tests" ? [] : [{ ignores: ["test/"] }]),
    { files: ["**/*.ts"], languageOptions: { parserOptions: { projectService: false, programs: [program] } } },
  ],
});
const linted = await eslint.lintFiles(part === "tests" ? ["test"] : ["."]);
const formatter = await eslint.loadFormatter("stylish");
const report = await formatter.format(linted);
if (report !== "") console.error(report);

const unused = part === "tests" ? unusedMembers(program, ROOT) : [];
for (const line of unused) console.error(line);

const isClean = linted.every(({ errorCount, warningCount }) => errorCount + warningCount === 0);
process.exitCode = diagnostics.length === 0 && isClean && unused.length === 0 ? 0 : 1;
