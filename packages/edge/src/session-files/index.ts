/** Entry `@boxmaker/edge/session-files`: the logs of conversations, as they are on disk. */
export { type EpochOnDisk, readEpoch, SESSION_FORMAT, type SessionStart } from "./read-epoch.ts";
export { listEpochs, readSession } from "./read-session.ts";
export { SessionError, type SessionFault } from "./session-error.ts";
export { baselineFile, logFile, sessionFolder, UNFINISHED_PREFIX } from "./session-names.ts";
