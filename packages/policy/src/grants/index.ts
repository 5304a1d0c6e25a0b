/** The owner's grants directory, read and checked. */
export { GrantStore, type GrantStoreOptions } from "./grant-store.ts";
export { parseGrantFile } from "./parse-grant-file.ts";
