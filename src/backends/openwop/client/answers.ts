/**
 * What the host answers, as far as Baton reads it. Unknown keys, statuses and event types pass: a host may be newer
 * than Baton (openwop.md 1.2, 1.3).
 */
import { z } from "zod";

const errorBody = z.looseObject({ code: z.string().optional(), message: z.string().optional() });

export const createdSchema = z.looseObject({ runId: z.string().min(1), status: z.string() });

export const snapshotSchema = z.looseObject({
  runId: z.string().min(1),
  status: z.string(),
  currentNodeId: z.string().nullish(),
  error: errorBody.nullish(),
});
export type RunSnapshot = z.infer<typeof snapshotSchema>;

export const eventSchema = z.looseObject({
  type: z.string(),
  sequence: z.number().int().min(0),
  payload: z
    .record(z.string(), z.unknown())
    .nullish()
    .transform((payload) => payload ?? {}),
  timestamp: z.string().optional(),
  nodeId: z.string().nullish(),
});
export type RunEvent = z.infer<typeof eventSchema>;

export const pageSchema = z.looseObject({
  events: z.array(eventSchema),
  lastSequence: z.number().int(),
  status: z.string().optional(),
  isTerminal: z.boolean().optional(),
});
export type EventPage = z.infer<typeof pageSchema>;

export const runStatusSchema = z.looseObject({ status: z.string().optional() });

export const envelopeSchema = z.looseObject({ error: z.string() });

export const discoverySchema = z.looseObject({
  protocolVersion: z.unknown(),
  oauth: z.looseObject({ credentialInterrupt: z.unknown() }).nullish(),
});
