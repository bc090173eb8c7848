import type { Answers } from "./answers.ts";

/** Facts of the service that pages show. */
export interface Site {
  /** Without a trailing slash. */
  publicUrl: string;
  version: string;
  /** Whether this is the local stack, which takes only wallets made for it. */
  isLocalStack: boolean;
}

/** What the server gives the browser to go on with. */
export interface PageState {
  address: string;
  answers: Answers;
  site: Site;
}
