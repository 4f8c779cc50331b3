/** Creates, updates and deletes secret references, each in one transaction with its audit row. */
import type { Sealer } from '../../auth/keyring.ts';
import { authSecretLocations } from '../../auth/reference-secrets.ts';
import { sealSecrets } from '../../auth/secret-values.ts';
import { secretMask } from '../../model/secrets/secret-fields.ts';
import {
  type AuthConfig,
  authFaults,
  mergeAuthConfig,
  retainedAuthSecretFaults,
} from '../../model/secrets/secret-manager.ts';
import {
  type SecretReferenceCreate,
  type SecretReferenceUpdate,
  secretReferenceFaults,
} from '../../model/secrets/secret-reference.ts';
import { prefixFaults } from '../../model/wire/fault.ts';
import { newId } from '../../model/wire/ids.ts';
import { rewriteDocument, writeDocument } from '../../model/wire/json-record.ts';
import { emptyToNull } from '../../model/wire/resource-fields.ts';
import { rejectFaults, validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as secretReferences from '../../store/resources/secret-references.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import type { AdminDeps } from '../request/deps.ts';
import type {
  BodyRequest,
  CreateFields,
  ItemRequest,
  UpdateFields,
} from '../request/frame-fields.ts';
import {
  createResource,
  deleteResource,
  type ResourceWriter,
  updateResource,
} from '../request/resource-change.ts';
import { requireWholeOrganisation } from '../request/scoping.ts';
import { insertUnderSlug } from '../request/slugs.ts';
import { readAuth } from './secret-reference-record.ts';

const slugForm = { prefix: '', nameLengthMax: 40 };

type SecretReferenceResource = secretReferences.SecretReferenceWithWorkspaces & {
  readonly workspace_id: null;
};

const writer: ResourceWriter<SecretReferenceResource> = {
  kind: 'SecretReference',
  param: 'secretReferenceId',
  lock: async (tx, organisationId, reference) => {
    const row = await secretReferences.findByIdOrSlugForUpdate(tx, organisationId, reference);
    if (row === undefined) return undefined;
    const [placed] = await secretReferences.withWorkspaces(tx, organisationId, [row]);
    // It belongs to the organisation, so a caller bound to a workspace cannot change it.
    return { ...placed!, workspace_id: null };
  },
  write: (tx, organisationId, id, { workspace_id: _, workspaceIds: __, ...columns }) =>
    secretReferences.update(tx, organisationId, id, columns),
};

/** Returns the ids of the new reference. */
export async function createSecretReference(
  deps: AdminDeps,
  request: BodyRequest<SecretReferenceCreate & CreateFields>,
) {
  const { caller, body, now } = request;
  requireWholeOrganisation(caller);
  rejectFaults(secretReferenceFaults(body));
  const sealer = await deps.keyring.sealerOf(caller.organisationId);
  const id = newId();
  const config = mergeAuthConfig(body.manager_type, null, body.auth_config);
  const unnamed = {
    id,
    organisation_id: caller.organisationId,
    name: body.name,
    description: emptyToNull(body.description),
    manager_type: body.manager_type,
    auth_config: JSON.stringify(sealed(sealer, id, config, null)),
    secret_path: body.secret_path,
    secret_key: body.secret_key ?? null,
    allow_all_workspaces: Number(accessAfter(body, closed).isOpen),
    allowed_hosts: JSON.stringify(body.allowed_hosts ?? []),
    tags: writeDocument(body.tags),
    created_by: caller.id,
    version: 1,
    created_at: now,
    last_updated_at: now,
  };
  const { slug } = await createResource(deps, request, 'SecretReference', async (tx) => {
    const allowed = await findWorkspaces(tx, caller.organisationId, body.allowed_workspaces ?? []);
    const row = await insertUnderSlug(slugForm, body.slug, unnamed, (named) =>
      secretReferences.insert(tx, named),
    );
    if (allowed.length > 0) {
      await secretReferences.replaceWorkspaces(tx, caller.organisationId, id, allowed);
    }
    const changes = { name: body.name, manager_type: body.manager_type };
    return { row: { ...row, workspace_id: null }, changes };
  });
  return { id, slug, object: 'secret-reference' as const };
}

/** Returns `{}`. Absent fields stay, null clears. */
export async function updateSecretReference(
  deps: AdminDeps,
  request: BodyRequest<SecretReferenceUpdate & Pick<UpdateFields, 'managed_by'>>,
): Promise<Record<string, never>> {
  const { caller, body } = request;
  const { organisationId } = caller;
  const sealer = await deps.keyring.sealerOf(organisationId);
  await updateResource(deps, request, writer, {
    columns: (_, row) => ({
      name: body.name,
      description: body.description === undefined ? row.description : emptyToNull(body.description),
      auth_config: rewriteDocument(row.auth_config, authAfter(sealer, row, body.auth_config)),
      secret_path: body.secret_path,
      secret_key: body.secret_key,
      allow_all_workspaces: Number(accessAfter(body, accessOf(row)).isOpen),
      allowed_hosts: rewriteDocument(row.allowed_hosts, hostsAfter(body.allowed_hosts)),
      tags: rewriteDocument(row.tags, body.tags),
    }),
    writeElsewhere: async (tx, row) => {
      if (body.allow_all_workspaces === undefined && body.allowed_workspaces === undefined)
        return [];
      const { named } = accessAfter(body, accessOf(row));
      const ids = await findWorkspaces(tx, organisationId, named);
      const isSame = ids.toSorted().join() === row.workspaceIds.toSorted().join();
      if (isSame) return [];
      await secretReferences.replaceWorkspaces(tx, organisationId, row.id, ids);
      return ['allowed_workspaces'];
    },
  });
  return {};
}

/** Returns `{}`. */
export async function deleteSecretReference(
  deps: AdminDeps,
  request: ItemRequest,
): Promise<Record<string, never>> {
  return deleteResource(deps, request, writer, async (tx, row) => {
    const { organisation_id: organisationId, id, name } = row;
    const user = await secretReferences.findUser(tx, organisationId, id);
    if (user !== undefined) {
      const what = user.table === 'integrations' ? 'integration' : 'MCP integration';
      throw validationError({ path: [], message: `The ${what} ${user.slug} uses this reference` });
    }
    await secretReferences.deleteById(tx, organisationId, id);
    return { name };
  });
}

/** The stored document after an update; undefined leaves it unchanged. */
function authAfter(
  sealer: Sealer,
  row: SecretReferenceResource,
  sent: AuthConfig | undefined,
): AuthConfig | undefined {
  if (sent === undefined) return undefined;
  const stored = readAuth(row);
  const merged = mergeAuthConfig(row.manager_type, stored, sent);
  const isUnchanged = (name: string) => [undefined, secretMask].includes(sent[name] as string);
  const faults = authFaults(row.manager_type, merged);
  // Secrets stored for one address must not be sent to another.
  const all = faults.length > 0 ? faults : retainedAuthSecretFaults(stored, merged, isUnchanged);
  rejectFaults(prefixFaults(['auth_config'], all));
  const changedFields = Object.entries(merged).filter(([name, value]) => value !== stored[name]);
  return { ...merged, ...sealed(sealer, row.id, Object.fromEntries(changedFields), stored) };
}

function sealed(
  sealer: Sealer,
  id: string,
  config: AuthConfig,
  stored: AuthConfig | null,
): AuthConfig {
  const sealing = sealSecrets(sealer, authSecretLocations(id), config, stored);
  rejectFaults(prefixFaults(['auth_config'], sealing.faults));
  return sealing.document;
}

/** Workspaces that may use a reference: all, or those named by id or slug. */
interface Access {
  readonly isOpen: boolean;
  readonly named: readonly string[];
}

const open: Access = { isOpen: true, named: [] };
const closed: Access = { isOpen: false, named: [] };

/** Null empties the list, undefined keeps it. */
function hostsAfter(sent: readonly string[] | null | undefined): string[] | undefined {
  return sent === undefined ? undefined : [...(sent ?? [])];
}

function accessOf({ allow_all_workspaces, workspaceIds }: SecretReferenceResource): Access {
  return { isOpen: allow_all_workspaces !== 0, named: workspaceIds };
}

/** A list denies all other workspaces. Without a list no workspace may use it, unless all may. */
function accessAfter(
  {
    allow_all_workspaces: isOpen,
    allowed_workspaces: named,
  }: Pick<SecretReferenceUpdate, 'allow_all_workspaces' | 'allowed_workspaces'>,
  before: Access,
): Access {
  if (named !== undefined && named !== null) return { isOpen: false, named };
  if (isOpen === true) return open;
  if (named === null) return closed;
  return isOpen === undefined ? before : { isOpen: false, named: before.named };
}

/**
 * Resolves workspaces by UUID or slug and locks them until the transaction ends.
 *
 * @throws ApiError `invalid` for an unknown workspace
 */
async function findWorkspaces(
  tx: Db,
  organisationId: string,
  references: readonly string[],
): Promise<string[]> {
  const ids = new Set<string>();
  for (const [at, reference] of references.entries()) {
    const workspace = await workspaces.findByIdOrSlugForShare(tx, organisationId, reference);
    if (workspace === undefined) {
      throw validationError({ path: ['allowed_workspaces', at], message: 'is not a workspace' });
    }
    ids.add(workspace.id);
  }
  return [...ids];
}
