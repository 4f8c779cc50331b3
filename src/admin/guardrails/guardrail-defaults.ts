/** Knows what holds in every workspace of an organisation over HTTP (docs/api.md, Organisation defaults). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/route.ts';
import { ApiError } from '../../model/errors.ts';
import { ExportSettings } from '../../model/log-export.ts';
import { validationError } from '../../model/validation-error.ts';
import { GuardrailReferences } from '../../model/workspace.ts';
import type { Db } from '../../store/connection/db.ts';
import * as guardrails from '../../store/tables/guardrails.ts';
import * as organisationDefaults from '../../store/tables/organisation-defaults.ts';
import { auditChange } from '../request/change.ts';
import { type AdminDeps, type AdminRequest, everyMountByKeys } from '../request/deps.ts';
import { type BodyRequest, requireUpdate, someField } from '../request/frame-fields.ts';
import { requireVersion, versioned } from '../request/version.ts';

const sides = ['input_guardrails', 'output_guardrails'] as const;
type Side = (typeof sides)[number];

/** Absent keeps, null clears. */
const DefaultsUpdate = z
  .object({
    input_guardrails: GuardrailReferences.nullable().optional(),
    output_guardrails: GuardrailReferences.nullable().optional(),
    export_settings: ExportSettings.nullable().optional(),
  })
  .meta(someField);
type DefaultsUpdate = z.infer<typeof DefaultsUpdate>;

const Named = z.array(z.object({ id: z.uuid(), slug: z.string() }));
const DefaultsRecord = z.object({
  ...{ input_guardrails: Named, output_guardrails: Named, export_settings: ExportSettings },
});

export function guardrailDefaultRoutes(deps: AdminDeps): Route<Principal>[] {
  const shared = { mounts: everyMountByKeys, path: '/admin/organisation/defaults' } as const;
  return [
    route({
      ...shared,
      method: 'GET',
      scope: 'organisation_settings.read',
      summary: 'Get the guardrails of every workspace',
      response: DefaultsRecord,
      handle: (request) => get(deps, request),
    }),
    route({
      ...shared,
      method: 'PUT',
      scope: 'organisation_settings.update',
      versioned: true,
      summary: 'Set the guardrails of every workspace',
      body: DefaultsUpdate,
      response: z.object({}),
      handle: (request) => update(deps, request),
    }),
  ];
}

async function get(deps: AdminDeps, { caller }: AdminRequest) {
  if (caller.workspaceId !== null) throw new ApiError('forbidden');
  const db = deps.database.readable;
  const stored = await organisationDefaults.find(db, caller.organisationId);
  const ids = sides.flatMap((side) => idsOf(stored, side));
  const known = new Map(
    (await guardrails.listByIds(db, caller.organisationId, ids)).map((row) => [row.id, row]),
  );
  const named = (side: Side) =>
    idsOf(stored, side).flatMap((id) => {
      const row = known.get(id);
      return row === undefined ? [] : [{ id, slug: row.slug }];
    });
  const record = {
    input_guardrails: named('input_guardrails'),
    output_guardrails: named('output_guardrails'),
    export_settings: {
      deniedFields: JSON.parse(
        await organisationDefaults.findDeniedExportFields(db, caller.organisationId),
      ) as ExportSettings['deniedFields'],
    },
  };
  return versioned(record, stored);
}

/** Answers `{}`. */
async function update(deps: AdminDeps, request: BodyRequest<DefaultsUpdate>) {
  const { body, caller, now } = request;
  const { organisationId } = caller;
  requireUpdate(body);
  if (caller.workspaceId !== null) throw new ApiError('forbidden');
  await deps.database.transaction(async (tx) => {
    const stored = await organisationDefaults.findForUpdate(tx, organisationId, now);
    requireVersion(request, stored.version);
    const denied = await organisationDefaults.findDeniedExportFields(tx, organisationId);
    const columns: Partial<Record<Side | 'denied_export_fields', string>> = {};
    if (body.export_settings !== undefined) {
      columns.denied_export_fields = JSON.stringify(body.export_settings?.deniedFields ?? []);
    }
    for (const side of sides) {
      const sent = body[side];
      if (sent === undefined) continue;
      columns[side] = JSON.stringify(await idsNamed(tx, organisationId, side, sent ?? []));
    }
    const before = { ...stored, denied_export_fields: denied };
    const names = [...sides, 'denied_export_fields'] as const;
    if (names.every((name) => (columns[name] ?? before[name]) === before[name])) return;
    await organisationDefaults.update(tx, organisationId, columns, now);
    await auditChange(tx, deps, request, {
      ...{ action: 'update', kind: 'OrganisationDefaults', resourceId: organisationId },
      ...{ workspaceId: null, changes: columns },
    });
  });
  return {};
}

/** @throws ApiError `invalid` for a guardrail that not every workspace can use. */
async function idsNamed(
  tx: Db,
  organisationId: string,
  side: Side,
  references: readonly string[],
): Promise<string[]> {
  const rows = (await guardrails.listByReferencesForShare(tx, organisationId, references)).filter(
    ({ workspace_id, status }) => workspace_id === null && status === 'active',
  );
  const idOf = new Map(rows.flatMap(({ id, slug }) => [[id, id] as const, [slug, id] as const]));
  const ids = references.map((name) => idOf.get(name) ?? idOf.get(name.toLowerCase()));
  const unknown = references.filter((_, at) => ids[at] === undefined);
  if (unknown.length > 0) {
    const message = `names guardrails that the organisation does not have: ${unknown.join(', ')}`;
    throw validationError({ path: [side], message });
  }
  return [...new Set(ids as string[])];
}

/** Whether a guardrail is among the defaults of the organisation. */
export async function isDefault(tx: Db, organisationId: string, id: string): Promise<boolean> {
  const stored = await organisationDefaults.find(tx, organisationId);
  return sides.some((side) => idsOf(stored, side).includes(id));
}

function idsOf(stored: organisationDefaults.StoredDefaults, side: Side): string[] {
  return JSON.parse(stored[side]) as string[];
}
