import { type DestinationStream, pino } from "pino";
import type { LOG_LEVELS } from "../config/telemetry.ts";
import { logFields, scrub } from "./log-fields.ts";
import { onLostTerminal } from "./lost-terminal.ts";

export type LogLevel = (typeof LOG_LEVELS)[number];

/** A log whose records hold listed fields only, and no credential in any text. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * JSON records, one a line: `level` in words, `time` in ISO 8601, `msg`, and the fields. `output` is by default standard
 * output, written before the call returns, so that the last lines before an end are not lost.
 */
export function createJsonLog(level: LogLevel, output?: DestinationStream): Log {
  const logger = pino(
    {
      level,
      base: null,
      // Already reduced by logFields; pino's own would flatten its causes.
      serializers: { err: (error: unknown) => error },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    output ?? standardOutput(),
  );
  const at = (name: LogLevel) => (fields: object, message: string) => {
    if (logger.isLevelEnabled(name)) logger[name](logFields(fields), scrub(message));
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

function standardOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: true });
  output.on("error", onLostTerminal);
  return output;
}

/** The same guarantees for lines that people read: the message, and what went wrong with it. */
export function createTextLog(level: LogLevel, output: NodeJS.WritableStream): Log {
  const rank = { debug: 0, info: 1, warn: 2, error: 3 } as const;
  const at = (name: LogLevel, label: string) => (fields: object, message: string) => {
    if (rank[name] < rank[level]) return;
    const { err, worker } = logFields(fields) as { err?: { message: string }; worker?: number };
    const who = worker === undefined ? "" : `worker ${worker}: `;
    output.write(`${label}${who}${scrub(message)}${err === undefined ? "" : `: ${err.message}`}\n`);
  };
  return {
    debug: at("debug", "debug: "),
    info: at("info", ""),
    warn: at("warn", "warning: "),
    error: at("error", "error: "),
  };
}

/** The same log, whose records tell which process of the gateway wrote them. */
export function logOfWorker(log: Log, worker: number): Log {
  return {
    debug: (fields, message) => log.debug({ ...fields, worker }, message),
    info: (fields, message) => log.info({ ...fields, worker }, message),
    warn: (fields, message) => log.warn({ ...fields, worker }, message),
    error: (fields, message) => log.error({ ...fields, worker }, message),
  };
}
