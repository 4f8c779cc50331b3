/** Knows change sets as they travel: many changes of resources in one request, and what became of each. */
import { z } from 'zod';
import { idempotencyKeyPattern } from '../wire/idempotency.ts';
import { kindNames } from './kinds.ts';
import { listOf } from '../wire/paging.ts';

export const changesMax = 1000;

/** Most labels that one change waits for. */
export const afterMax = 100;

/** What is in it is looked at with the schema of its own route, one change after another. */
const ChangeBody = z
  .custom<Record<string, unknown>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be an object',
  )
  .meta({ type: 'object' });

/** What a change is called within its set. */
const Label = z.string().min(1).max(64);

export const Change = z.strictObject({
  kind: z.enum(kindNames),
  action: z.enum(['create', 'update', 'delete']),
  /** Of what is updated or deleted, where its path holds one. */
  id: z.string().min(1).max(255).optional(),
  /** Version that the change was made from. */
  if_match: z.int().min(0).optional(),
  /** Of a create; sent again under it, it is made once. */
  idempotency_key: z
    .string()
    .regex(idempotencyKeyPattern, 'takes 1 to 255 visible ASCII characters, a UUID as a rule')
    .optional(),
  /** By which later changes refer to what this one makes. */
  label: Label.optional(),
  /** Labels of earlier changes without which this one is not carried out. */
  after: z.array(Label).max(afterMax).optional(),
  /** As the single request takes it, and the fields that stand in its path. */
  body: ChangeBody.optional(),
});
export type Change = z.infer<typeof Change>;

export const ChangeSet = z.strictObject({
  /** `atomic`: all or nothing. `independent`: each for itself. */
  mode: z.enum(['atomic', 'independent']).default('independent'),
  changes: z.array(Change).min(1).max(changesMax),
});
export type ChangeSet = z.infer<typeof ChangeSet>;

const ChangeResult = z.object({
  /** As the single request would have been answered; 424 for what goes with something refused. */
  status: z.int(),
  body: z.record(z.string(), z.unknown()),
});
export type ChangeResult = z.infer<typeof ChangeResult>;

/** In the order of the changes; `applied` counts those that were carried out. */
export const ChangeSetResult = listOf(ChangeResult).extend({ applied: z.int().min(0) });
export type ChangeSetResult = z.infer<typeof ChangeSetResult>;
