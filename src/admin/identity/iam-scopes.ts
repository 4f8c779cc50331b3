/**
 * HTTP routes for scopes of the access service (docs/reference/access.md, Scopes of the access service).
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { IamScopeCreate, IamScopeReplace, IamScopeResource } from '../../model/people/iam-scope.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { StreamedList } from '../../model/wire/streamed-list.ts';
import * as iamScopes from '../../store/people/iam-scopes.ts';
import { auditChange } from '../request/change.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import type { BodyRequest } from '../request/frame-fields.ts';
import { requireWholeOrganisation } from '../request/scoping.ts';
import { requireUnique } from '../request/unique.ts';
import { requireVersion, withVersionTag } from '../request/version.ts';

const IamScope = z.object({
  /** `<name>:<tsg_id>`. */
  id: z.string(),
  name: z.string(),
  description: z.string(),
  resources: z.array(IamScopeResource.required()),
  tsg_id: z.string(),
});
const IamScopeList = z.object({ count: z.int().min(0), items: z.array(IamScope) });

export function iamScopeRoutes(deps: AdminDeps): Route<Principal>[] {
  const all = { path: '/iam/v1/scopes', mounts: { root: ['access-token', 'session'] } } as const;
  const item = { ...all, path: `${all.path}/:name` } as const;
  return [
    route({
      ...all,
      method: 'POST',
      scope: 'iam_scopes.create',
      summary: 'Create a scope of the access service',
      body: IamScopeCreate,
      response: IamScope,
      handle: (request) => create(deps, request),
    }),
    route({
      ...all,
      method: 'GET',
      scope: 'iam_scopes.list',
      summary: 'List scopes of the access service',
      response: IamScopeList,
      handle: async ({ caller }) => {
        requireWholeOrganisation(caller);
        const rows = await iamScopes.list(deps.database.readable, caller.organisationId);
        const items = rows.values().map((row) => present(caller, row));
        return new StreamedList<z.infer<typeof IamScopeList>>(
          { count: rows.length },
          'items',
          items,
        );
      },
    }),
    route({
      ...item,
      method: 'GET',
      scope: 'iam_scopes.read',
      summary: 'Get a scope of the access service',
      response: IamScope,
      handle: async ({ caller, params }) => {
        requireWholeOrganisation(caller);
        const db = deps.database.readable;
        const row = await iamScopes.find(db, caller.organisationId, params.name!);
        if (row === undefined) throw new ApiError('notFound');
        return withVersionTag(present(caller, row), row);
      },
    }),
    route({
      ...item,
      method: 'PUT',
      scope: 'iam_scopes.update',
      versioned: true,
      summary: 'Replace the content of a scope of the access service',
      ignoredFields: ['name'],
      body: IamScopeReplace,
      response: IamScope,
      handle: (request) => replace(deps, request),
    }),
    route({
      ...item,
      method: 'DELETE',
      scope: 'iam_scopes.delete',
      versioned: true,
      summary: 'Delete a scope of the access service',
      response: z.object({}),
      handle: (request) => remove(deps, request),
    }),
  ];
}

async function create(deps: AdminDeps, request: BodyRequest<IamScopeCreate>) {
  const { caller, now } = request;
  requireWholeOrganisation(caller);
  const { name, description, resources } = request.body;
  const times = { created_at: now, last_updated_at: now };
  const row = {
    organisation_id: caller.organisationId,
    name,
    version: 1,
    ...times,
    description,
    resources: JSON.stringify(resources),
  };
  await deps.database.transaction(async (tx) => {
    await requireUnique(iamScopes.insert(tx, row), undefined, 'name');
    await auditIamScope(tx, deps, request, name, {
      action: 'create',
      changes: { description, resources },
    });
  });
  return present(caller, row);
}

async function replace(deps: AdminDeps, request: BodyRequest<IamScopeReplace>) {
  const { caller, now } = request;
  requireWholeOrganisation(caller);
  return deps.database.transaction(async (tx) => {
    const name = request.params.name!;
    const row = await iamScopes.findForUpdate(tx, caller.organisationId, name);
    if (row === undefined) throw new ApiError('notFound');
    requireVersion(request, row.version);
    const { description, resources } = request.body;
    const isAsIs =
      row.description === description && isDeepStrictEqual(JSON.parse(row.resources), resources);
    if (isAsIs) return present(caller, row);
    const columns = { description, resources: JSON.stringify(resources), last_updated_at: now };
    await iamScopes.update(tx, row, columns);
    await auditIamScope(tx, deps, request, name, {
      action: 'update',
      changes: { description, resources },
    });
    return present(caller, { ...row, ...columns });
  });
}

async function remove(deps: AdminDeps, request: AdminRequest) {
  const { caller, params } = request;
  requireWholeOrganisation(caller);
  await deps.database.transaction(async (tx) => {
    const row = await iamScopes.findForUpdate(tx, caller.organisationId, params.name!);
    if (row === undefined) throw new ApiError('notFound');
    requireVersion(request, row.version);
    await iamScopes.deleteOne(tx, row);
    await auditIamScope(tx, deps, request, params.name!, { action: 'delete', changes: {} });
  });
  return {};
}

function auditIamScope(
  tx: Parameters<typeof auditChange>[0],
  deps: AdminDeps,
  request: AdminRequest,
  name: string,
  what: Pick<Parameters<typeof auditChange>[3], 'action' | 'changes'>,
): Promise<void> {
  const place = { kind: 'IamScope', resourceId: name, workspaceId: null } as const;
  return auditChange(tx, deps, request, { ...place, ...what });
}

function present(
  { tsgId }: Principal,
  {
    name,
    description,
    resources,
  }: Pick<iamScopes.StoredIamScope, 'name' | 'description' | 'resources'>,
): z.infer<typeof IamScope> {
  const held = JSON.parse(resources) as IamScopeResource[];
  return {
    id: `${name}:${tsgId}`,
    name,
    description,
    tsg_id: tsgId,
    resources: held.map((one) => ({ ...one, metadata: one.metadata ?? [] })),
  };
}
