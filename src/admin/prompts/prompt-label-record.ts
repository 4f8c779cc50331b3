/** Converts prompt labels to API records and to the body that would create them again. */
import { z } from 'zod';
import type { StoredPromptLabel } from '../../store/prompts/prompt-labels.ts';
import { computed, constant, record, timestamp } from '../request/record.ts';

const label = record<StoredPromptLabel>()({
  id: z.uuid(),
  name: z.string(),
  description: z.string().nullable(),
  color_code: z.string().nullable(),
  organisation_id: z.uuid(),
  workspace_id: z.uuid().nullable(),
  /** Whether prompts of every workspace can use it. */
  is_universal: computed(z.boolean(), (row: StoredPromptLabel) => row.workspace_id === null),
  status: constant('active'),
  created_at: timestamp,
  last_updated_at: timestamp,
  object: constant('label'),
});

export const PromptLabelRecord = label.schema;
export const promptLabelToRecord = label.toRecord;

/** The body that would create this label; sync compares it with its manifests. */
export const promptLabelToSpec = label.toSpec('name', 'workspace_id', 'description', 'color_code');
