/**
 * Logs that somebody or something has damaged, each with what has to be said of it. The hashes are real: they are computed here, so
 * that a damage is found for its own reason and not for a wrong hash elsewhere.
 */
import { ACCEPTED_BREAKS } from "./accepted-breaks.ts";
import type { DamagedLog } from "./damage.ts";
import { DAMAGED_RECORDS } from "./damaged-records.ts";
import { DAMAGED_RECOVERIES } from "./damaged-recoveries.ts";
import { TORN_LOGS } from "./torn-logs.ts";

export const DAMAGED_LOGS: readonly DamagedLog[] = [...TORN_LOGS, ...DAMAGED_RECORDS, ...DAMAGED_RECOVERIES, ...ACCEPTED_BREAKS];
