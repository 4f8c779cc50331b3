/** Defines feedback on the responses of a trace. */
import { z } from 'zod';
import { JsonRecord } from '../wire/json-record.ts';
import { ResponseTimestamp } from '../wire/timestamp.ts';

/** Weights are stored in millionths. */
export const weightUnit = 1_000_000;
const atOnceMax = 100;

export const TraceId = z
  .string()
  .regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 visible ASCII characters');
const Value = z.int().min(-10).max(10);
const Weight = z
  .number()
  .min(0)
  .max(1)
  .refine((weight) => Number.isInteger(Math.round(weight * weightUnit * 1000) / 1000), {
    error: 'must have at most 6 decimal places',
  });

const FeedbackEntry = z
  .object({
    trace_id: TraceId.optional(),
    /** Spelling of another client of this API. */
    traceID: TraceId.optional(),
    value: Value,
    weight: Weight.nullable().optional(),
    metadata: JsonRecord.nullable().optional(),
  })
  .refine(({ trace_id, traceID }) => (trace_id === undefined) !== (traceID === undefined), {
    path: ['trace_id'],
    error: 'is required exactly once',
  });

/** Body of POST /feedback: one entry or a list of entries. */
export const FeedbackCreate = z.union([
  FeedbackEntry,
  z.array(FeedbackEntry).min(1).max(atOnceMax),
]);
export type FeedbackCreate = z.infer<typeof FeedbackCreate>;

/** Body of PUT /feedback/{id}; an absent field is unchanged. */
export const FeedbackUpdate = z.object({
  value: Value.optional(),
  weight: Weight.optional(),
  metadata: JsonRecord.optional(),
});
export type FeedbackUpdate = z.infer<typeof FeedbackUpdate>;

export const FeedbackRecord = z.object({
  id: z.uuid(),
  object: z.literal('feedback'),
  trace_id: z.string(),
  workspace_id: z.uuid().nullable(),
  value: z.int(),
  weight: z.number(),
  metadata: JsonRecord,
  created_by: z.string(),
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
});
export type FeedbackRecord = z.infer<typeof FeedbackRecord>;
