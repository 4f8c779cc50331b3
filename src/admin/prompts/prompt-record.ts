/** Converts prompts and their versions to API records and to the body that would create them again. */
import { z } from 'zod';
import {
  isRaw,
  type PromptContent,
  promptModel,
  promptParameters,
} from '../../model/prompts/prompt-content.ts';
import { JsonRecord, omitNulls } from '../../model/wire/json-record.ts';
import { Flag } from '../../model/wire/resource-fields.ts';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import type { StoredPromptLabel } from '../../store/prompts/prompt-labels.ts';
import type { StoredPromptVersion } from '../../store/prompts/prompt-versions.ts';
import type { StoredPrompt } from '../../store/prompts/prompts.ts';

/** Items of the list. `model` is absent when none is set, because clients do not accept null. */
export const PromptListItem = z.object({
  id: z.uuid(),
  collection_id: z.uuid(),
  workspace_id: z.uuid(),
  name: z.string(),
  slug: z.string(),
  status: z.literal('active'),
  model: z.string().optional(),
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
  object: z.literal('prompt'),
});

const Label = z.object({ id: z.uuid(), name: z.string() });

/** Response of get: a prompt with one of its versions, by default the published one. */
export const PromptRecord = PromptListItem.extend({
  organisation_id: z.uuid(),
  prompt_version: z.int(),
  prompt_version_id: z.uuid(),
  prompt_version_description: z.string().nullable(),
  prompt_version_status: z.literal('active'),
  prompt_version_label_id: z.uuid().nullable(),
  prompt_version_label_name: z.string().nullable(),
  prompt_version_labels: z.array(Label),
  string: z.string(),
  parameters: JsonRecord,
  functions: z.array(JsonRecord).nullable(),
  tools: z.array(JsonRecord).nullable(),
  tool_choice: z.union([z.string(), JsonRecord]).nullable(),
  template_metadata: JsonRecord.nullable(),
  /** An integer, because clients of this API cannot parse a boolean here. */
  is_raw_template: Flag,
  virtual_key: z.string().nullable(),
});

/** Items of the list of versions. */
export const PromptVersionItem = z.object({
  id: z.uuid(),
  prompt_id: z.uuid(),
  prompt_version: z.int(),
  prompt_template: z.string(),
  prompt_description: z.string().optional(),
  label_id: z.uuid().optional(),
  is_raw_template: Flag,
  status: z.literal('active'),
  created_at: ResponseTimestamp,
  object: z.literal('prompt'),
});

export function promptToListItem(
  row: Omit<StoredPrompt, 'content'>,
): z.infer<typeof PromptListItem> {
  return {
    id: row.id,
    collection_id: row.collection_id,
    workspace_id: row.workspace_id,
    name: row.name,
    slug: row.slug,
    status: 'active',
    ...(row.model === null ? {} : { model: row.model }),
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
    object: 'prompt',
  };
}

/** `label` is the version's label; undefined for none. */
export function promptToRecord(
  row: StoredPrompt,
  version: StoredPromptVersion,
  label: StoredPromptLabel | undefined,
): z.infer<typeof PromptRecord> {
  const content = JSON.parse(version.content) as PromptContent;
  const { functions, tools, tool_choice, template_metadata, virtual_key } = content;
  return {
    ...promptToListItem({ ...row, model: promptModel(content) }),
    organisation_id: row.organisation_id,
    prompt_version: version.number,
    prompt_version_id: version.id,
    prompt_version_description: content.version_description,
    prompt_version_status: 'active',
    prompt_version_label_id: label?.id ?? null,
    prompt_version_label_name: label?.name ?? null,
    prompt_version_labels: label === undefined ? [] : [{ id: label.id, name: label.name }],
    string: content.string,
    parameters: promptParameters(content),
    functions: functions === null ? null : [...functions],
    tools: tools === null ? null : [...tools],
    tool_choice,
    template_metadata,
    virtual_key,
    is_raw_template: isRaw(content) ? 1 : 0,
  };
}

export function promptToVersionItem(
  row: Pick<StoredPrompt, 'id'>,
  version: StoredPromptVersion,
): z.infer<typeof PromptVersionItem> {
  const content = JSON.parse(version.content) as PromptContent;
  const { string, version_description: description } = content;
  return {
    id: version.id,
    prompt_id: row.id,
    prompt_version: version.number,
    prompt_template: string,
    ...(description === null ? {} : { prompt_description: description }),
    ...(version.label_id === null ? {} : { label_id: version.label_id }),
    is_raw_template: isRaw(content) ? 1 : 0,
    status: 'active',
    created_at: formatTimestamp(version.created_at),
    object: 'prompt',
  };
}

/** A prompt and whether it is in the default collection. */
export interface DeclaredPrompt extends StoredPrompt {
  readonly isInDefault: boolean;
}

/** The body that would create this prompt; sync compares it with its manifests. */
export function promptToSpec(row: DeclaredPrompt): Record<string, unknown> {
  const { name, slug, workspace_id, collection_id, isInDefault } = row;
  return {
    name,
    slug,
    workspace_id,
    ...(isInDefault ? {} : { collection_id }),
    ...omitNulls(JSON.parse(row.content)),
  };
}
