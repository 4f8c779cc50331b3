/**
 * HTTP routes for exclusions from organisation guardrails, for all workspaces and one side at once
 * (docs/reference/resources.md, Organisation defaults).
 */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { newId } from '../../model/wire/ids.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as guardrailExclusions from '../../store/resources/guardrail-exclusions.ts';
import * as organisationDefaults from '../../store/resources/organisation-defaults.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import * as organisationLocks from '../../store/rows/organisation-locks.ts';
import { recordChange } from '../request/change.ts';
import { type AdminDeps, type AdminRequest, everyMount } from '../request/deps.ts';
import type { BodyRequest } from '../request/frame-fields.ts';
import { requireOwnOrganisation, requireWholeOrganisation } from '../request/scoping.ts';
import { requireVersion, withVersionTag } from '../request/version.ts';

const workspacesMax = 1_000;
const organisation_id = z.string().min(1).max(255).optional();

/**
 * By UUID or slug. Workspaces that are left out stay, or with `override_existing` are no longer excluded.
 */
const ExclusionsUpdate = z.object({
  organisation_id,
  workspaces: z
    .array(z.object({ workspace_id: z.string().min(1).max(255), excluded: z.boolean() }))
    .max(workspacesMax),
  override_existing: z.boolean().default(false),
});
type ExclusionsUpdate = z.infer<typeof ExclusionsUpdate>;

const Exclusions = z.object({
  workspaces: z.array(z.object({ workspace_id: z.uuid(), excluded: z.boolean() })),
});

const sides = {
  'input-guardrails': {
    column: 'input_guardrails',
    version: 'input_exclusions_version',
  },
  'output-guardrails': {
    column: 'output_guardrails',
    version: 'output_exclusions_version',
  },
} as const;
type Side = keyof typeof sides;

export function workspaceExclusionRoutes(deps: AdminDeps): Route<Principal>[] {
  return (['input-guardrails', 'output-guardrails'] as const).flatMap((side) => {
    const shared = { mounts: everyMount, path: `/workspace-exclusions/${side}` } as const;
    const words = side.replace('-', ' ');
    return [
      route({
        ...shared,
        method: 'GET',
        scope: 'organisation_exclusions.list',
        summary: `List the workspaces that are excluded from ${words} of the organisation`,
        query: z.object({ organisation_id }),
        response: Exclusions,
        handle: (request) => {
          requireOrganisation(request, request.query.organisation_id);
          return list(deps, request, side);
        },
      }),
      route({
        ...shared,
        method: 'PUT',
        scope: 'organisation_exclusions.update',
        versioned: true,
        summary: `Set the workspaces that are excluded from ${words} of the organisation`,
        body: ExclusionsUpdate,
        response: Exclusions,
        handle: (request) => update(deps, request, side),
      }),
    ];
  });
}

function requireOrganisation({ caller }: Pick<AdminRequest, 'caller'>, named?: string): void {
  requireWholeOrganisation(caller);
  requireOwnOrganisation(caller, named);
}

async function list(deps: AdminDeps, { caller }: Pick<AdminRequest, 'caller'>, side: Side) {
  const { organisationId } = caller;
  const db = deps.database.readable;
  const at = sides[side];
  // Read before the rows: an older version is refused as stale, a newer one would hide a change.
  const version = await organisationDefaults.findExclusionsVersion(db, organisationId, at.version);
  const rows = await workspaces.listAllForOrganisation(db, organisationId);
  const exclusions = await exclusionsByWorkspace(db, organisationId);
  const items = rows.map(({ id }) => ({
    workspace_id: id,
    excluded: exclusions.get(id)?.[at.column] === 1,
  }));
  return withVersionTag({ workspaces: items }, { version });
}

async function exclusionsByWorkspace(
  db: Db,
  organisationId: string,
): Promise<Map<string, guardrailExclusions.StoredGuardrailExclusion>> {
  const rows = await guardrailExclusions.listAllForOrganisation(db, organisationId);
  return new Map(rows.map((row) => [row.workspace_id, row]));
}

async function update(deps: AdminDeps, request: BodyRequest<ExclusionsUpdate>, side: Side) {
  const { body, caller, now } = request;
  const { organisationId } = caller;
  const { column, version } = sides[side];
  requireOrganisation(request, body.organisation_id);
  await deps.database.transaction(async (tx) => {
    await organisationLocks.lock(tx, organisationId);
    await organisationDefaults.findForUpdate(tx, organisationId, now);
    requireVersion(
      request,
      await organisationDefaults.findExclusionsVersion(tx, organisationId, version),
    );
    const rows = await workspaces.listAllForOrganisation(tx, organisationId);
    const exclusions = await exclusionsByWorkspace(tx, organisationId);
    const requested = exclusionsInBody(rows, body);
    const changed = rows.flatMap(({ id }) => {
      const before = exclusions.get(id);
      const isExcluded = before?.[column] === 1;
      const excluded = requested.get(id) ?? (body.override_existing ? false : isExcluded);
      return excluded === isExcluded ? [] : [{ id, excluded, before }];
    });
    if (changed.length === 0) return;
    await organisationDefaults.countExclusions(tx, organisationId, [version]);
    for (const { id, excluded, before } of changed) {
      await write(tx, deps, request, { workspaceId: id, before, column, excluded });
    }
  });
  return await list(deps, request, side);
}

/** Deletes an exclusion that excludes nothing any more, even a declared one. */
async function write(
  tx: Db,
  deps: AdminDeps,
  request: BodyRequest<ExclusionsUpdate>,
  to: {
    readonly workspaceId: string;
    readonly before: guardrailExclusions.StoredGuardrailExclusion | undefined;
    readonly column: 'input_guardrails' | 'output_guardrails';
    readonly excluded: boolean;
  },
): Promise<void> {
  const { workspaceId, before, column, excluded } = to;
  const { now } = request;
  const { organisationId } = request.caller;
  const resourceId = before?.id ?? newId();
  const after = {
    input_guardrails: 0,
    output_guardrails: 0,
    ...before,
    [column]: Number(excluded),
  };
  const isLeft = after.input_guardrails + after.output_guardrails > 0;
  if (before === undefined) {
    await guardrailExclusions.insert(tx, {
      ...after,
      id: resourceId,
      organisation_id: organisationId,
      workspace_id: workspaceId,
      created_at: now,
      last_updated_at: now,
    });
  } else if (isLeft) {
    const columns = { [column]: Number(excluded), last_updated_at: now };
    await guardrailExclusions.update(tx, organisationId, resourceId, columns);
  } else {
    await guardrailExclusions.deleteById(tx, organisationId, resourceId);
  }
  await recordChange(tx, deps, request, {
    action: before === undefined ? 'create' : isLeft ? 'update' : 'delete',
    kind: 'GuardrailExclusion',
    resourceId,
    workspaceId,
    changes: { [column]: excluded },
  });
}

/**
 * Requested exclusion by workspace id; the last entry of a workspace wins.
 *
 * @throws ApiError `invalid` for an unknown workspace
 */
function exclusionsInBody(
  rows: readonly workspaces.StoredWorkspace[],
  body: ExclusionsUpdate,
): Map<string, boolean> {
  const idOf = new Map(rows.flatMap(({ id, slug }) => [[id, id] as const, [slug, id] as const]));
  return new Map(
    body.workspaces.map(({ workspace_id: name, excluded }, at) => {
      const id = idOf.get(name) ?? idOf.get(name.toLowerCase());
      if (id !== undefined) return [id, excluded] as const;
      const path = ['workspaces', at, 'workspace_id'];
      throw validationError({ path, message: 'is not a known workspace' });
    }),
  );
}
