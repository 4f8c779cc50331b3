/** Converts guardrails to API records, list items and the body that would create them again. */
import { z } from 'zod';
import {
  GuardrailActions,
  GuardrailCheck,
  GuardrailTarget,
} from '../../model/guardrails/guardrail.ts';
import { readDocument } from '../../model/wire/json-record.ts';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import type { StoredGuardrail } from '../../store/resources/guardrails.ts';
import { GuardrailMapping } from './guardrail-mapping-record.ts';

/** Items of the list. */
export const GuardrailListItem = z.object({
  id: z.uuid(),
  name: z.string(),
  slug: z.string(),
  target: GuardrailTarget,
  organisation_id: z.uuid(),
  workspace_id: z.uuid().nullable(),
  status: z.enum(['active', 'archived']),
  owner_id: z.uuid(),
  updated_by: z.uuid(),
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
  object: z.literal('guardrail'),
});

/** Response of get. */
export const GuardrailRecord = GuardrailListItem.extend({
  version_id: z.uuid(),
  checks: z.array(GuardrailCheck),
  actions: GuardrailActions,
  mcp_server_mappings: z.array(GuardrailMapping),
});

/** Columns of a list item; without the content, which may be a megabyte. */
export const guardrailListColumns = [
  'id',
  'name',
  'slug',
  'organisation_id',
  'workspace_id',
  'target',
  'status',
  'owner_id',
  'updated_by',
  'created_at',
  'last_updated_at',
] as const satisfies readonly (keyof StoredGuardrail)[];

export function guardrailToListItem(
  row: Pick<StoredGuardrail, (typeof guardrailListColumns)[number]>,
): z.infer<typeof GuardrailListItem> {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    target: row.target,
    organisation_id: row.organisation_id,
    workspace_id: row.workspace_id,
    status: row.status,
    owner_id: row.owner_id,
    updated_by: row.updated_by,
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
    object: 'guardrail',
  };
}

/** The record without its mappings. `as sent` adds nothing to checks and actions; `complete` adds all defaults. */
export function guardrailToFrame(
  row: StoredGuardrail,
  form: 'as sent' | 'complete',
): Omit<z.infer<typeof GuardrailRecord>, 'mcp_server_mappings'> {
  const checks = JSON.parse(row.checks) as GuardrailCheck[];
  const actions = readDocument<GuardrailActions>(row.actions) ?? {};
  const complete = form === 'complete';
  return {
    ...guardrailToListItem(row),
    version_id: row.version_id,
    checks: complete ? checks.map((check) => ({ ...checkDefaults, ...check })) : checks,
    actions: complete ? completeActions(actions) : actions,
  };
}

/** The body that would create this guardrail; sync compares it with its manifests. */
export function guardrailToSpec(row: StoredGuardrail): Record<string, unknown> {
  return {
    name: row.name,
    target: row.target,
    checks: JSON.parse(row.checks),
    ...(row.actions === null ? {} : { actions: JSON.parse(row.actions) }),
    ...(row.workspace_id === null ? {} : { workspace_id: row.workspace_id }),
  };
}

const checkDefaults = { is_enabled: true, parameters: {} };

function completeActions(actions: GuardrailActions): GuardrailActions {
  return {
    deny: false,
    async: false,
    sequential: false,
    ...actions,
    on_success: completeOutcome(actions.on_success, 5),
    on_fail: completeOutcome(actions.on_fail, -5),
  };
}

function completeOutcome(
  outcome: GuardrailActions['on_success'],
  value: number,
): GuardrailActions['on_success'] {
  return { ...outcome, feedback: { value, weight: 1, metadata: '', ...outcome?.feedback } };
}
