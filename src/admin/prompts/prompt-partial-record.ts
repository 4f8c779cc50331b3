/** Converts partials and their versions to API records and to the body that would create them again. */
import { z } from 'zod';
import { type PartialContent, PartialStatus } from '../../model/prompts/prompt-partial.ts';
import { omitNulls } from '../../model/wire/json-record.ts';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import type * as promptPartials from '../../store/prompts/prompt-partials.ts';
import type { StoredPromptPartial } from '../../store/prompts/prompt-partials.ts';
import type { StoredPromptVersion } from '../../store/prompts/prompt-versions.ts';
import { constant, record, timestamp } from '../request/record.ts';

type ListedPartial = Pick<StoredPromptPartial, (typeof promptPartials.listedColumns)[number]>;

const item = record<ListedPartial>()({
  id: z.uuid(),
  slug: z.string(),
  name: z.string(),
  workspace_id: z.uuid().nullable(),
  status: PartialStatus,
  created_at: timestamp,
  last_updated_at: timestamp,
  object: constant('partial'),
});

/** Items of the list. */
export const PromptPartialListItem = item.schema;
export const promptPartialToListItem = item.toRecord;

/** Response of get: a partial with one of its versions, by default the published one. */
export const PromptPartialRecord = PromptPartialListItem.extend({
  organisation_id: z.uuid(),
  string: z.string(),
  version: z.int(),
  version_description: z.string().nullable(),
  prompt_partial_version_id: z.uuid(),
  prompt_partial_version_status: z.literal('active'),
});

/** Items of the list of versions. */
export const PromptPartialVersionItem = z.object({
  prompt_partial_id: z.uuid(),
  prompt_partial_version_id: z.uuid(),
  slug: z.string(),
  version: z.int(),
  string: z.string(),
  description: z.string().optional(),
  prompt_version_status: z.literal('active'),
  created_at: ResponseTimestamp,
  object: z.literal('partial'),
});

export function promptPartialToRecord(
  row: StoredPromptPartial,
  version: StoredPromptVersion,
): z.infer<typeof PromptPartialRecord> {
  const { string, version_description } = JSON.parse(version.content) as PartialContent;
  return {
    ...promptPartialToListItem(row),
    organisation_id: row.organisation_id,
    string,
    version: version.number,
    version_description,
    prompt_partial_version_id: version.id,
    prompt_partial_version_status: 'active',
  };
}

export function promptPartialToVersionItem(
  row: Pick<StoredPromptPartial, 'id' | 'slug'>,
  version: StoredPromptVersion,
): z.infer<typeof PromptPartialVersionItem> {
  const { string, version_description } = JSON.parse(version.content) as PartialContent;
  return {
    prompt_partial_id: row.id,
    prompt_partial_version_id: version.id,
    slug: row.slug,
    version: version.number,
    string,
    ...(version_description === null ? {} : { description: version_description }),
    prompt_version_status: 'active',
    created_at: formatTimestamp(version.created_at),
    object: 'partial',
  };
}

/** The body that would create this partial; sync compares it with its manifests. */
export function promptPartialToSpec(row: StoredPromptPartial): Record<string, unknown> {
  const { name, slug, workspace_id } = row;
  const content = JSON.parse(row.content) as PartialContent;
  return omitNulls({ name, slug, workspace_id, ...content });
}
