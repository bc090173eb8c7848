/** Imports run one way: lib ← config ← {db, chain, indexer, http, jobs} ← features ← container ← app ← {server, worker}. */
const layers = [
  ["lib", "^api/lib/"],
  ["config", "^api/config/"],
  ["technology", "^api/(db|chain|indexer|http|jobs)/"],
  ["features", "^api/features/"],
  ["container", "^api/container\\.ts$"],
  ["app", "^api/app\\.ts$"],
  ["processes", "^api/(server|worker)\\.ts$"],
];

module.exports = {
  forbidden: [
    {
      name: "no-circular",
      comment: "A circle of imports has no first file to read.",
      severity: "error",
      from: { path: "^(api|scripts|deploy|test)/" },
      to: { circular: true },
    },
    {
      name: "no-circular-folders",
      comment: "Two folders that import each other are one room with a wall through it.",
      severity: "error",
      scope: "folder",
      from: { path: "^(scripts|deploy|test)(/|$)" },
      to: { circular: true },
    },
    ...layers.slice(0, -1).map(([name, path], index) => ({
      name: `one-way-from-${name}`,
      comment: `${name} imports nothing that stands above it (style: imports run one way).`,
      severity: "error",
      from: { path },
      to: { path: layers.slice(index + 1).map(([, upper]) => upper) },
    })),
    {
      name: "product-stands-alone",
      comment: "The API imports no script, test, deployment code or subgraph source.",
      severity: "error",
      from: { path: "^api/" },
      to: { path: "^(scripts|test|deploy|subgraph)/" },
    },
    {
      name: "scripts-import-no-tests",
      severity: "error",
      from: { path: "^(scripts|deploy)/" },
      to: { path: "^test/" },
    },
    {
      name: "no-unresolvable",
      severity: "error",
      from: { path: "^(api|scripts|deploy|test)/" },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: "(node_modules|typechain-types)" },
    exclude: { path: "(node_modules|typechain-types|^test/subgraph|^subgraph)" },
    tsConfig: { fileName: "tsconfig.json" },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default", "types"] },
  },
};
