/** Converts prompt labels to API records and to the body that would create them again. */
import { z } from 'zod';
import { omitNulls } from '../../model/wire/json-record.ts';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import type { StoredPromptLabel } from '../../store/prompts/prompt-labels.ts';

export const PromptLabelRecord = z.object({
  id: z.uuid(),
  name: z.string(),
  description: z.string().nullable(),
  color_code: z.string().nullable(),
  organisation_id: z.uuid(),
  workspace_id: z.uuid().nullable(),
  /** Whether prompts of every workspace can use it. */
  is_universal: z.boolean(),
  status: z.literal('active'),
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
  object: z.literal('label'),
});

export function toRecord(row: StoredPromptLabel): z.infer<typeof PromptLabelRecord> {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    color_code: row.color_code,
    organisation_id: row.organisation_id,
    workspace_id: row.workspace_id,
    is_universal: row.workspace_id === null,
    status: 'active',
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
    object: 'label',
  };
}

/** The body that would create this label; sync compares it with its manifests. */
export function toSpec(row: StoredPromptLabel): Record<string, unknown> {
  const { name, workspace_id, description, color_code } = row;
  return omitNulls({ name, workspace_id, description, color_code });
}
