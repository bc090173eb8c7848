// `npm run verify-ruling`: on the running local marketplace unless the environment names another.
import { useLocalStack } from "./local/operator-environment.ts";

useLocalStack();
await import("../api/commands/verify-ruling.ts");
