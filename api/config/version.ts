import packageFile from "../../package.json" with { type: "json" };

/** Version of the service, in `/health` and in the API description. The path prefix is `v1` in every 1.x. */
export const VERSION = packageFile.version;
