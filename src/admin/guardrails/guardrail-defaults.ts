/**
 * HTTP routes for settings that apply to every workspace of an organisation (docs/reference/resources.md,
 * Organisation defaults).
 */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import type { Route } from '../../http/routes/route.ts';
import { singletonName } from '../../model/kinds/kinds.ts';
import { ExportSettings } from '../../model/logs/log-export.ts';
import { defaultGuardrailFields } from '../../model/manifests/kind-references.ts';
import { omitNulls } from '../../model/wire/json-record.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import { OrganisationDefaults } from '../../model/workspaces/organisation-defaults.ts';
import type { Db } from '../../store/connection/db.ts';
import * as guardrails from '../../store/resources/guardrails.ts';
import * as organisationDefaults from '../../store/resources/organisation-defaults.ts';
import * as organisations from '../../store/resources/organisations.ts';
import { type AdminDeps, type AdminRequest, everyMount } from '../request/deps.ts';
import { type BodyRequest, type ItemRequest, updateFields } from '../request/frame-fields.ts';
import { type Resource, snapshotOf } from '../request/resource.ts';
import { deleteResource, type ResourceWriter, updateResource } from '../request/resource-change.ts';
import { itemRoutes } from '../request/resource-routes.ts';
import { requireWholeOrganisation } from '../request/scoping.ts';
import { withVersionTag } from '../request/version.ts';

type Side = (typeof defaultGuardrailFields)[number];

const { managed_by } = updateFields;
const DefaultsUpdate = OrganisationDefaults.extend({ managed_by });

const Named = z.array(z.object({ id: z.uuid(), slug: z.string() }));
const DefaultsRecord = z.object({
  input_guardrails: Named,
  output_guardrails: Named,
  mcp_input_guardrails: Named,
  mcp_output_guardrails: Named,
  export_settings: ExportSettings,
  /** Maximum lifetime of API keys; null for none. */
  api_key_max_ttl_days: z.int().nullable(),
});

/** Exist with every organisation, initially empty; a delete empties them again. */
export const organisationDefaultsResource: Resource = {
  kind: 'OrganisationDefaults',
  features: ['guardrails'],
  routes: organisationDefaultsRoutes,
  snapshot: snapshotOf(
    async (tx, organisationId, which) => {
      const maxDays = await findMaxDays(tx, organisationId);
      const rows = await organisationDefaults.listInUse(
        tx,
        organisationId,
        which,
        maxDays !== null,
      );
      return rows.map((row) => ({ ...row, maxDays }));
    },
    toSpec,
    () => ({ name: singletonName }),
  ),
};

function organisationDefaultsRoutes(deps: AdminDeps): Route<Principal>[] {
  const item = { mounts: everyMount, path: '/admin/organisation/defaults' };
  const on = itemRoutes(
    item,
    (action) => `organisation_settings.${action === 'read' ? action : 'update'}`,
  );
  return [
    on.get({
      summary: 'Get the guardrails of every workspace, and the settings of the organisation',
      response: DefaultsRecord,
      handle: (request) => get(deps, request),
    }),
    on.update({
      summary: 'Set the guardrails of every workspace, and the settings of the organisation',
      body: DefaultsUpdate,
      response: z.object({ id: z.uuid() }),
      handle: (request) => update(deps, request),
    }),
    on.remove({
      summary:
        'Remove the guardrails of every workspace, the restrictions of exports and the lifetime of keys',
      handle: (request) => clear(deps, request),
    }),
  ];
}

async function get(deps: AdminDeps, { caller }: AdminRequest) {
  requireWholeOrganisation(caller);
  const db = deps.database.readable;
  const stored = await organisationDefaults.find(db, caller.organisationId);
  const ids = defaultGuardrailFields.flatMap((side) => idsOf(stored, side));
  const rowsById = new Map(
    (await guardrails.listByIds(db, caller.organisationId, ids)).map((row) => [row.id, row]),
  );
  const named = (side: Side) =>
    idsOf(stored, side).flatMap((id) => {
      const row = rowsById.get(id);
      return row === undefined ? [] : [{ id, slug: row.slug }];
    });
  const record = {
    input_guardrails: named('input_guardrails'),
    output_guardrails: named('output_guardrails'),
    mcp_input_guardrails: named('mcp_input_guardrails'),
    mcp_output_guardrails: named('mcp_output_guardrails'),
    export_settings: {
      deniedFields: JSON.parse(
        await organisationDefaults.findDeniedExportFields(db, caller.organisationId),
      ) as ExportSettings['deniedFields'],
    },
    api_key_max_ttl_days: await findMaxDays(db, caller.organisationId),
  };
  return withVersionTag(record, stored);
}

type DefaultsResource = organisationDefaults.StoredOrganisationDefaults & {
  readonly workspace_id: null;
};

/**
 * Writer of the one row, whatever the path contains. With `setsLifetime` it locks the organisation first, as the
 * change of an organisation does.
 */
function createDefaultsWriter(
  now: number,
  { setsLifetime }: { readonly setsLifetime: boolean },
): ResourceWriter<DefaultsResource> {
  return {
    kind: 'OrganisationDefaults',
    param: '',
    lock: async (tx, organisationId) => {
      if (setsLifetime) await organisations.findByIdForUpdate(tx, organisationId);
      const row = await organisationDefaults.findForUpdate(tx, organisationId, now);
      return { ...row, workspace_id: null };
    },
    write: (tx, organisationId, id, { workspace_id: _, ...columns }) =>
      organisationDefaults.update(tx, organisationId, id, columns),
  };
}

async function update(deps: AdminDeps, request: BodyRequest<z.infer<typeof DefaultsUpdate>>) {
  const { body, caller, now } = request;
  requireWholeOrganisation(caller);
  const setsLifetime = body.api_key_max_ttl_days !== undefined;
  const writer = createDefaultsWriter(now, { setsLifetime });
  const { id } = await updateResource(deps, request, writer, {
    columns: async (tx, { organisation_id: organisationId }) => {
      const columns: Partial<DefaultsResource> = {};
      if (body.export_settings !== undefined) {
        columns.denied_export_fields = JSON.stringify(body.export_settings?.deniedFields ?? []);
      }
      for (const side of defaultGuardrailFields) {
        const sent = body[side];
        if (sent === undefined) continue;
        columns[side] = JSON.stringify(
          await resolveGuardrailIds(tx, organisationId, side, sent ?? []),
        );
      }
      return columns;
    },
    writeElsewhere: async (tx, { organisation_id: organisationId }) => {
      const isWritten = await writeMaxDays(tx, organisationId, body.api_key_max_ttl_days, now);
      return isWritten ? ['api_key_max_ttl_days'] : [];
    },
  });
  return { id };
}

async function findMaxDays(db: Db, organisationId: string): Promise<number | null> {
  return (await organisations.findById(db, organisationId))?.api_key_max_ttl_days ?? null;
}

/** Returns whether the value changed; undefined leaves it. */
async function writeMaxDays(
  tx: Db,
  organisationId: string,
  days: number | null | undefined,
  now: number,
): Promise<boolean> {
  if (days === undefined) return false;
  const row = await organisations.findByIdForUpdate(tx, organisationId);
  if (row === undefined || row.api_key_max_ttl_days === days) return false;
  const columns = { api_key_max_ttl_days: days, last_updated_at: now };
  await organisations.update(tx, organisationId, columns);
  return true;
}

/** Returns `{}`. */
async function clear(deps: AdminDeps, request: ItemRequest): Promise<Record<string, never>> {
  const { caller, now } = request;
  requireWholeOrganisation(caller);
  const writer = createDefaultsWriter(now, { setsLifetime: true });
  return deleteResource(deps, request, writer, async (tx, row) => {
    const columns = { ...organisationDefaults.emptyDefaults, last_updated_at: now };
    await organisationDefaults.update(tx, row.organisation_id, row.id, columns);
    await writeMaxDays(tx, row.organisation_id, null, now);
    return {};
  });
}

/** @throws ApiError `invalid` for a guardrail that not every workspace can use */
async function resolveGuardrailIds(
  tx: Db,
  organisationId: string,
  side: Side,
  references: readonly string[],
): Promise<string[]> {
  const rows = (await guardrails.listByReferencesForShare(tx, organisationId, references)).filter(
    ({ workspace_id, status, target }) =>
      workspace_id === null &&
      status === 'active' &&
      target === (side.startsWith('mcp_') ? 'mcp_tools' : 'llm'),
  );
  const idOf = new Map(rows.flatMap(({ id, slug }) => [[id, id] as const, [slug, id] as const]));
  const ids = references.map((name) => idOf.get(name) ?? idOf.get(name.toLowerCase()));
  const unknown = references.filter((_, at) => ids[at] === undefined);
  if (unknown.length > 0) {
    const message = `refers to guardrails that the organisation does not have: ${unknown.join(', ')}`;
    throw validationError({ path: [side], message });
  }
  return [...new Set(ids as string[])];
}

/** Whether a guardrail is among the defaults of the organisation. */
export async function isDefaultGuardrail(
  tx: Db,
  organisationId: string,
  id: string,
): Promise<boolean> {
  const stored = await organisationDefaults.find(tx, organisationId);
  return defaultGuardrailFields.some((side) => idsOf(stored, side).includes(id));
}

function idsOf(stored: Pick<organisationDefaults.StoredDefaults, Side>, side: Side): string[] {
  return JSON.parse(stored[side] ?? '[]') as string[];
}

/** The body that would set the same values; sync compares it with its manifests. */
function toSpec(
  row: organisationDefaults.StoredOrganisationDefaults & { readonly maxDays: number | null },
): Record<string, unknown> {
  const list = (text: string | null) =>
    text === null || text === '[]' ? null : (JSON.parse(text) as string[]);
  const deniedFields = list(row.denied_export_fields);
  return omitNulls({
    input_guardrails: list(row.input_guardrails),
    output_guardrails: list(row.output_guardrails),
    mcp_input_guardrails: list(row.mcp_input_guardrails),
    mcp_output_guardrails: list(row.mcp_output_guardrails),
    export_settings: deniedFields && { deniedFields },
    api_key_max_ttl_days: row.maxDays,
  });
}
