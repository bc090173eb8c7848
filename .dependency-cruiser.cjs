/** Imports run one way: lib ← config ← {db, chain, indexer, outbound, http, jobs} ← search ← features, platform ← features.ts ← container ← mcp ← app ← {server, worker, commands}. */
const layers = [
  ["lib", "^api/lib/"],
  ["config", "^api/config/"],
  ["technology", "^api/(db|chain|indexer|outbound|http|jobs)/"],
  ["search", "^api/search/"],
  ["features", "^api/features/"],
  ["platform", "^api/platform\\.ts$"],
  ["list of features", "^api/features\\.ts$"],
  ["container", "^api/container\\.ts$"],
  ["hosted tools", "^api/mcp/"],
  ["app", "^api/app\\.ts$"],
  ["processes", "^api/((server|worker)\\.ts$|commands/)"],
];

module.exports = {
  forbidden: [
    {
      name: "no-circular",
      comment: "A circle of imports has no first file to read.",
      severity: "error",
      from: { path: "^(api|scripts|deploy|sdk|tools|cli|web|test)/" },
      to: { circular: true },
    },
    {
      name: "no-circular-folders",
      comment: "Two folders that import each other are one room with a wall through it.",
      severity: "error",
      scope: "folder",
      from: { path: "^(api|scripts|deploy|sdk|tools|cli|web|test)(/|$)" },
      to: { circular: true },
    },
    ...layers.slice(0, -1).map(([name, path], index) => ({
      name: `one-way-from-${name.replaceAll(" ", "-")}`,
      comment: `${name} imports nothing that stands above it (style: imports run one way).`,
      severity: "error",
      from: { path },
      to: { path: layers.slice(index + 1).map(([, upper]) => upper) },
    })),
    {
      name: "features-by-their-module",
      comment: "The list of features, container, app and processes know a feature by its module.ts alone (style: 21).",
      severity: "error",
      from: { path: "^api/((features|container|app|server|worker)\\.ts$|commands/)" },
      to: { path: "^api/features/", pathNot: "^api/features/(feature\\.ts$|[^/]+/module\\.ts$)" },
    },
    {
      name: "modules-are-joined-by-the-container",
      comment: "A module takes what it needs by name; it imports no other module.",
      severity: "error",
      from: { path: "^api/features/" },
      to: { path: "^api/features/[^/]+/module\\.ts$" },
    },
    {
      name: "product-stands-alone",
      comment:
        "The API imports no script, client, test, deployment code, subgraph source or output of the compiler. Only the room that " +
        "serves the tools imports them, and the client that they stand on, by their package entries.",
      severity: "error",
      from: { path: "^api/", pathNot: "^api/mcp/" },
      to: { path: "^(scripts|sdk|tools|cli|web|test|deploy|subgraph|typechain-types)/" },
    },
    {
      name: "hosted-tools-by-their-entries",
      comment: "See product-stands-alone.",
      severity: "error",
      from: { path: "^api/mcp/" },
      to: {
        path: "^(scripts|sdk|tools|cli|web|test|deploy|subgraph|typechain-types)/",
        pathNot: "^(sdk|tools)/src/index\\.ts$",
      },
    },
    {
      name: "sdk-stands-alone",
      comment: "The client is a package of its own: it imports its own files and what sdk/package.json names.",
      severity: "error",
      from: { path: "^sdk/" },
      to: { pathNot: "^(sdk/src|node_modules/(viem|eventsource-parser|@noble/(curves|hashes)|@x402/(core|evm)))/" },
    },
    {
      name: "tools-stand-on-the-sdk",
      comment:
        "The catalogue imports its own files, the client by its package entry, and what tools/package.json names.",
      severity: "error",
      from: { path: "^tools/" },
      to: { pathNot: "^(tools/src/|sdk/src/index\\.ts$|node_modules/(@modelcontextprotocol/server|viem|zod)/)" },
    },
    {
      name: "cli-stands-on-tools-and-sdk",
      comment:
        "The command line imports its own files, catalogue and client by their package entries, what Node has, and what " +
        "cli/package.json names.",
      severity: "error",
      from: { path: "^cli/" },
      to: {
        pathNot: [
          "^(cli/src/|tools/src/(index|mcp/[^/]+)\\.ts$|sdk/src/index\\.ts$)",
          "^node_modules/(commander|viem|zod|@noble/(hashes|curves|ciphers)|@modelcontextprotocol/server)/",
        ],
        dependencyTypesNot: ["core"],
      },
    },
    {
      name: "web-stands-on-the-sdk",
      comment:
        "The web pages import their own files, the client's types, calls and signed data, and the packages that they are made with; the " +
        "service loads their bundle as a file.",
      severity: "error",
      from: { path: "^web/src/" },
      to: {
        pathNot:
          "^(web/src/|sdk/src/(index|agreement-data|approval-data|calls|canonical-json|generated/api-types)\\.ts$|node_modules/preact(-render-to-string)?/)",
      },
    },
    {
      name: "production-packages-only",
      comment: "The image installs without the packages of development.",
      severity: "error",
      from: { path: "^api/" },
      to: { dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"], dependencyTypesNot: ["type-only"] },
    },
    {
      name: "one-room-knows-the-search-engine",
      comment:
        "Everything else uses the interfaces of search/engine/search-table.ts, so that another engine can take its place.",
      severity: "error",
      from: { path: "^(api|scripts|deploy|sdk|tools|cli)/", pathNot: "^api/search/engine/" },
      to: { path: "^node_modules/(@lancedb|apache-arrow)/" },
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
      from: { path: "^(api|scripts|deploy|sdk|tools|cli|web|test)/" },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: "(node_modules|typechain-types)" },
    exclude: { path: "(^test/subgraph|^subgraph)" },
    tsConfig: { fileName: "tsconfig.json" },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default", "types"] },
  },
};
