#!/usr/bin/env node
import { enableCompileCache } from "node:module";

// Before anything else is loaded: compiling is more than half of a short command's time.
enableCompileCache();
const { run } = await import("./run.ts");
await run();
