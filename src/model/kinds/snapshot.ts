/** Defines the snapshot on the wire: all resources of an organisation, as the server sends them to the sync. */
import { z } from 'zod';
import { ManagedBy } from '../manifests/managed-by.ts';
import { DefinitionFinding } from '../mcp/definition-finding.ts';
import { JsonRecord } from '../wire/json-record.ts';
import { kindNames } from './kinds.ts';

const { source, take_ownership: _, ...mark } = ManagedBy.shape;

/** Objects are not strict, so that an older client accepts fields of a newer server. */
const SnapshotResource = z.object({
  kind: z.enum(kindNames),
  id: z.uuid(),
  slug: z.string().nullable(),
  /** Null for a guardrail mapping, which has no name. */
  name: z.string().nullable(),
  workspace_id: z.uuid().nullable(),
  /** Number of writes, which `If-Match` compares. */
  version: z.int(),
  /** For API keys: `auto` for the key of `bootstrap`, which belongs to the deployment. */
  creation_mode: z.string().optional(),
  /** For API keys: past and next rotation; absent if there is neither. */
  rotation: z
    .object({
      next_rotation_at: z.string().nullable(),
      rotated_at: z.string().nullable(),
      /** When the previous value expires; null next to `rotated_at` until the new value is delivered. */
      transition_expires_at: z.string().nullable(),
    })
    .optional(),
  /** For MCP integrations: definitions that are not trusted or that are suspicious; absent if there are none. */
  definitions: z.array(DefinitionFinding).optional(),
  /** The create body without nulls; write-only values are replaced by fingerprints. */
  spec: JsonRecord,
  managed_by: z
    .object({
      ...mark,
      source: z.object(source.shape),
      /** Whether the caller wrote the mark itself. Resources marked by others are not deleted without consent. */
      recorded_by_caller: z.boolean().default(true),
    })
    .nullable(),
});
export type SnapshotResource = z.infer<typeof SnapshotResource>;

/** Response of GET /admin/v2/gatewright/snapshot. */
export const Snapshot = z.object({
  object: z.literal('snapshot'),
  organisation_id: z.uuid(),
  /**
   * Base64 key of the fingerprints, different for each owner. Null for callers that may not write header
   * values, because the key allows guessing short values. Fingerprints are then ''.
   */
  fingerprint_key: z.string().nullable(),
  /** API_KEY_PREFIX, for key values that the caller generates; '' when unset, absent from older servers. */
  api_key_prefix: z
    .string()
    .regex(/^[0-9A-Za-z]*$/)
    .default(''),
  /** Maximum changes of one change set; absent from servers without change sets. */
  changes_max: z.int().min(1).optional(),
  /** Kinds that this deployment has disabled, and the setting that does so; absent from older servers. */
  switched_off: z.array(z.object({ kind: z.string(), setting: z.string() })).optional(),
  resources: z.array(SnapshotResource),
});
export type Snapshot = z.infer<typeof Snapshot>;
