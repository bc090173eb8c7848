import type { ClientOptions } from "openai";

// The client reads every option that is missing here from the environment, such as the key of another model.
const DEFAULTS = {
  organization: null,
  project: null,
  webhookSecret: null,
  adminAPIKey: null,
  // The callers retry, because they count what each attempt costs.
  maxRetries: 0,
  logLevel: "off",
  fetchOptions: { redirect: "error" },
} as const satisfies ClientOptions;

/**
 * A client of a server that speaks OpenAI's protocol, with the class of the package that has its errors. The package has 236
 * modules, and most processes never make a request, so the first one loads it.
 */
export function openAI(options: ClientOptions) {
  const load = async () => {
    const { OpenAI } = await import("openai");
    return { client: new OpenAI({ ...DEFAULTS, ...options }), OpenAI };
  };
  let loading: ReturnType<typeof load> | undefined;
  return () => (loading ??= load());
}
