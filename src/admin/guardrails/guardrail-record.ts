/** Converts guardrails to API records, list items and the body that would create them again. */
import { z } from 'zod';
import { guardrailSecretsOf } from '../../auth/secret-documents.ts';
import {
  GuardrailActions,
  GuardrailCheck,
  GuardrailTarget,
} from '../../model/guardrails/guardrail.ts';
import { readDocument } from '../../model/wire/json-record.ts';
import type { StoredGuardrail } from '../../store/resources/guardrails.ts';
import { constant, record, timestamp } from '../request/record.ts';
import type { SpecSecrets } from '../request/resource.ts';
import { GuardrailMapping } from './guardrail-mapping-record.ts';

type ListedGuardrail = Omit<
  StoredGuardrail,
  'checks' | 'actions' | 'version' | 'version_id' | 'mappings_version'
>;

/** List items have no content, which may be a megabyte. */
const item = record<ListedGuardrail>()({
  id: z.uuid(),
  name: z.string(),
  slug: z.string(),
  target: GuardrailTarget,
  organisation_id: z.uuid(),
  workspace_id: z.uuid().nullable(),
  status: z.enum(['active', 'archived']),
  owner_id: z.uuid(),
  updated_by: z.uuid(),
  created_at: timestamp,
  last_updated_at: timestamp,
  object: constant('guardrail'),
});

export const GuardrailListItem = item.schema;
export const guardrailListColumns = item.columns;
export const guardrailToListItem = item.toRecord;

/** Response of get. */
export const GuardrailRecord = GuardrailListItem.extend({
  version_id: z.uuid(),
  checks: z.array(GuardrailCheck),
  actions: GuardrailActions,
  mcp_server_mappings: z.array(GuardrailMapping),
});

/**
 * The record without its mappings. `as sent` adds nothing to checks and actions; `complete` adds all
 * defaults.
 */
export function guardrailToFrame(
  row: StoredGuardrail,
  form: 'as sent' | 'complete',
): Omit<z.infer<typeof GuardrailRecord>, 'mcp_server_mappings'> {
  const stored = { checks: JSON.parse(row.checks) as GuardrailCheck[] };
  const { checks } = guardrailSecretsOf.mask(stored) as typeof stored;
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
export function guardrailToSpec(
  row: StoredGuardrail,
  { unsealer, fingerprintKey }: SpecSecrets,
): Record<string, unknown> {
  const stored = { checks: JSON.parse(row.checks) as GuardrailCheck[] };
  return {
    name: row.name,
    target: row.target,
    checks: guardrailSecretsOf.fingerprint(unsealer, fingerprintKey, row.id, stored).checks,
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
