// `npm run rebates:pay`: on the running local marketplace unless the environment names another.
import { useLocalStack } from "./local/operator-environment.ts";

useLocalStack();
await import("../api/commands/rebates-pay.ts");
