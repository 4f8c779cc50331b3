/** Defines change sets on the wire: many changes of resources in one request, and their results. */

import { z } from 'zod';
import { isObject } from '../json/read-object.ts';
import { idempotencyKeyPattern } from '../wire/idempotency.ts';
import { listSchema } from '../wire/paging.ts';
import { kindNames } from './kinds.ts';

export const changesMax = 1000;

/** Maximum labels in `after` of one change. */
export const afterMax = 100;

/** The schema of the corresponding route validates the content, change by change. */
const ChangeBody = z
  .custom<Record<string, unknown>>(isObject, 'must be an object')
  .meta({ type: 'object' });

/** Name of a change within its set. */
const Label = z.string().min(1).max(64);

export const ChangeRequest = z.strictObject({
  kind: z.enum(kindNames),
  action: z.enum(['create', 'update', 'delete']),
  /** Id of the updated or deleted resource, if the path contains one. */
  id: z.string().min(1).max(255).optional(),
  /** Version on which the change is based. */
  if_match: z.int().min(0).optional(),
  /** Makes a create idempotent: if it is sent again with the same key, the resource is created once. */
  idempotency_key: z
    .string()
    .regex(idempotencyKeyPattern, 'must be 1 to 255 visible ASCII characters, usually a UUID')
    .optional(),
  /** Name by which later changes refer to the created resource. */
  label: Label.optional(),
  /** Labels of earlier changes that must succeed before this one. */
  after: z.array(Label).max(afterMax).optional(),
  /** The body of the corresponding single request, and the fields in its path. */
  body: ChangeBody.optional(),
});
export type ChangeRequest = z.infer<typeof ChangeRequest>;

export const ChangeSet = z.strictObject({
  /** `atomic`: all changes or none. `independent`: each change on its own. */
  mode: z.enum(['atomic', 'independent']).default('independent'),
  changes: z.array(ChangeRequest).min(1).max(changesMax),
});
export type ChangeSet = z.infer<typeof ChangeSet>;

const ChangeResult = z.object({
  /** Status of the corresponding single request; 424 if a change that it depends on was rejected. */
  status: z.int(),
  body: z.record(z.string(), z.unknown()),
});
export type ChangeResult = z.infer<typeof ChangeResult>;

/** Results in the order of the changes; `applied` counts the successful ones. */
export const ChangeSetResult = listSchema(ChangeResult).extend({ applied: z.int().min(0) });
export type ChangeSetResult = z.infer<typeof ChangeSetResult>;
