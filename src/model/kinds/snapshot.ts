/** Knows the snapshot as it travels: what the server tells sync of everything an organisation holds. */
import { z } from 'zod';
import { JsonRecord } from '../wire/json-record.ts';
import { kindNames } from './kinds.ts';
import { ManagedBy } from '../manifests/managed-by.ts';

const { source, take_ownership: _, ...mark } = ManagedBy.shape;

/** Objects are open, so that a reader of an older version takes what a newer server tells. */
const SnapshotResource = z.object({
  kind: z.enum(kindNames),
  id: z.uuid(),
  slug: z.string().nullable(),
  /** Null for a mapping, which has none. */
  name: z.string().nullable(),
  workspace_id: z.uuid().nullable(),
  /** Counts writes; what `If-Match` compares. */
  version: z.int(),
  /** Of API keys: `auto` for that of `bootstrap`, which belongs to the deployment. */
  creation_mode: z.string().optional(),
  /** Of API keys: when the value is to be replaced, and was; left out where neither is so. */
  rotation: z
    .object({
      next_rotation_at: z.string().nullable(),
      rotated_at: z.string().nullable(),
      /** When the value before ends, or ended; null with `rotated_at`: once the new one is delivered. */
      transition_expires_at: z.string().nullable(),
    })
    .optional(),
  /** The create body, without nulls; write-only values stand in it as fingerprints. */
  spec: JsonRecord,
  managed_by: z
    .object({
      ...mark,
      source: z.object(source.shape),
      /** Whether the caller wrote the claim itself: what it did not, it does not remove unasked. */
      recorded_by_caller: z.boolean().default(true),
    })
    .nullable(),
});
export type SnapshotResource = z.infer<typeof SnapshotResource>;

/** Answer of GET /admin/v2/gatewright/snapshot. */
export const Snapshot = z.object({
  object: z.literal('snapshot'),
  organisation_id: z.uuid(),
  /**
   * Base64; the key of the fingerprints, another for each owner. Null for who may not write header
   * values: with the key a short value could be found by trying. Fingerprints are then ''.
   */
  fingerprint_key: z.string().nullable(),
  /** API_KEY_PREFIX, for values of keys that the caller makes; '' when unset, absent from older servers. */
  api_key_prefix: z
    .string()
    .regex(/^[0-9A-Za-z]*$/)
    .default(''),
  /** Most changes of one change set; absent from servers that take none. */
  changes_max: z.int().min(1).optional(),
  /** Kinds that this deployment has switched off, and by which setting; absent from older servers. */
  switched_off: z.array(z.object({ kind: z.string(), setting: z.string() })).optional(),
  resources: z.array(SnapshotResource),
});
export type Snapshot = z.infer<typeof Snapshot>;
