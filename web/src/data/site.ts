import type { Answers } from "./answers.ts";

/** Facts of the service that pages show. */
export interface Site {
  /** Without a trailing slash. */
  publicUrl: string;
  version: string;
}

/** What the server gives the browser to go on with. */
export interface PageState {
  address: string;
  answers: Answers;
  site: Site;
}
