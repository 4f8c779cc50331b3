/** Determines the fields that exports must not contain, by the organisation and the exported workspaces. */
import type { Principal } from '../../../auth/principal.ts';
import {
  type ExportField,
  type ExportSettings,
  exportFields,
} from '../../../model/logs/log-export.ts';
import { readDocument } from '../../../model/wire/json-record.ts';
import { validationError } from '../../../model/wire/validation-error.ts';
import type { Db } from '../../../store/connection/db.ts';
import * as organisationDefaults from '../../../store/resources/organisation-defaults.ts';
import type { StoredWorkspace } from '../../../store/resources/workspaces.ts';
import * as workspaces from '../../../store/resources/workspaces.ts';

/** In the order of {@link exportFields}. @param workspaceIds null for the whole organisation */
export async function deniedFields(
  db: Db,
  { organisationId }: Pick<Principal, 'organisationId'>,
  workspaceIds: readonly string[] | null,
): Promise<ExportField[]> {
  const own = await organisationDefaults.findDeniedExportFields(db, organisationId);
  const reached =
    workspaceIds === null
      ? await workspaces.listAllForOrganisation(db, organisationId)
      : await workspaces.listByIds(db, organisationId, workspaceIds);
  const denied = new Set([...(JSON.parse(own) as ExportField[]), ...reached.flatMap(deniedBy)]);
  return exportFields.filter((field) => denied.has(field));
}

function deniedBy({ settings }: StoredWorkspace): readonly ExportField[] {
  const document = readDocument<{ readonly export_settings?: ExportSettings }>(settings);
  return document?.export_settings?.deniedFields ?? [];
}

/**
 * Fields of an export: the requested ones, or all that are not denied.
 *
 * @throws ApiError `invalid` for a denied field
 */
export function fieldsOf(
  requested: readonly ExportField[] | undefined,
  denied: readonly ExportField[],
): ExportField[] {
  const fields = [...new Set(requested ?? exportFields.filter((one) => !denied.includes(one)))];
  const refused = fields.filter((field) => denied.includes(field));
  if (refused.length === 0) return fields;
  const message = `contains fields that exports must not contain here: ${refused.join(', ')}`;
  throw validationError({ path: ['requested_data'], message });
}
