export { type Clock, systemClock } from "../clock/clock.ts";
export { openLinePrinter } from "./line-printer.ts";
export { type Log, type LogFields, type LogValue, openLog } from "./log.ts";
