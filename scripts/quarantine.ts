// `npm run quarantine`: the operator's command, on the running local marketplace unless MONGODB_URI names a database.
import { useLocalStack } from "./local/operator-environment.ts";

useLocalStack();
await import("../api/commands/quarantine.ts");
