import js from "@eslint/js";
import prettier from "eslint-config-prettier";
import globals from "globals";
import tseslint from "typescript-eslint";

export default tseslint.config(
  {
    ignores: [
      "node_modules/",
      "artifacts/",
      "cache/",
      "coverage/",
      "typechain-types/",
      ".local/",
      "sdk/dist/",
      "web/dist/",
      "sdk/src/generated/",
      // AssemblyScript: another language with the same file ending, checked by its own compiler.
      "subgraph/src/",
      "subgraph/build/",
      "subgraph/generated/",
    ],
  },
  js.configs.recommended,
  {
    files: ["**/*.{ts,tsx}"],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      "@typescript-eslint/consistent-type-imports": "error",
      // Mongoose types the options of a schema's paths as a class, and is given plain objects by design.
      "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
      // Sources have no enums (erasableSyntaxOnly), and it took a quarter of the time.
      "@typescript-eslint/no-unsafe-enum-assignment": "off",
      "no-restricted-syntax": [
        "error",
        { selector: "ExportAllDeclaration", message: "No barrels: import from the file that defines the name." },
        {
          selector: "SpreadElement > ObjectExpression",
          message: "Write the properties out: TypeScript doesn't look for excess properties in a spread literal.",
        },
      ],
    },
  },
  {
    files: ["**/*.{ts,tsx}"],
    ignores: [
      "api/config/env.ts",
      "cli/src/config/environment.ts",
      "scripts/**",
      "test/**",
      "deploy/**",
      "hardhat.config.ts",
    ],
    rules: {
      "no-restricted-properties": [
        "error",
        {
          object: "process",
          property: "env",
          message: "Only api/config/env.ts and cli/src/config/environment.ts read process.env.",
        },
      ],
    },
  },
  {
    // Bodies of answers are of many shapes; the request helper has parsed each with its schema before a test sees it.
    files: [
      "test/api/**/*.ts",
      "test/e2e/**/*.ts",
      "test/bench/**/*.ts",
      "test/fixtures/**/*.ts",
      "test/tools/**/*.ts",
      "test/cli/**/*.ts",
      "test/web/**/*.ts",
    ],
    rules: {
      "@typescript-eslint/no-explicit-any": "off",
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-return": "off",
    },
  },
  {
    // Chai's assertions are property reads.
    files: ["test/contracts/**/*.ts"],
    rules: { "@typescript-eslint/no-unused-expressions": "off" },
  },
  { files: ["**/*.mjs", "**/*.js", "**/*.cjs"], languageOptions: { globals: globals.node } },
  prettier,
);
