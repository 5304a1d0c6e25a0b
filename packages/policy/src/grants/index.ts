/** The owner's grants directory, read and checked. */
export { type GivenFile, setFromTexts } from "./assemble-set.ts";
export { boxPlaces } from "./box-places.ts";
export { type AddedGrant, checkAddedGrant } from "./check-added-grant.ts";
export { GrantStore, type GrantStoreOptions } from "./grant-store.ts";
export { parseGrantFile } from "./parse-grant-file.ts";
