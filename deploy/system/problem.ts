import { HardhatPluginError } from "hardhat/plugins";

/** An error whose message says what to do. Hardhat prints it without a stack trace. */
export function problem(message: string, cause?: Error): HardhatPluginError {
  return new HardhatPluginError("marketplace", message, cause);
}
