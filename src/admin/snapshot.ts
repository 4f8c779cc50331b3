/** Knows the snapshot: everything an organisation declares, in one answer, for sync (docs/api.md, Snapshot). */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Principal } from '../auth/principal.ts';
import { holdsTag } from '../http/entity-tag.ts';
import { RawReply, type Route, route } from '../http/route.ts';
import { ApiError } from '../model/errors.ts';
import { type KindName, kindNames } from '../model/kinds.ts';
import { ManagedBy, ManagedName } from '../model/managed-by.ts';
import { readConsistently } from '../store/consistent-read.ts';
import * as apiKeys from '../store/tables/api-keys.ts';
import * as configs from '../store/tables/configs.ts';
import * as guardrailMappings from '../store/tables/guardrail-mappings.ts';
import * as guardrails from '../store/tables/guardrails.ts';
import type { ManagedResourceRow } from '../store/tables/managed-resources.ts';
import * as managedResources from '../store/tables/managed-resources.ts';
import * as mcpIntegrations from '../store/tables/mcp-integrations.ts';
import * as mcpServers from '../store/tables/mcp-servers.ts';
import * as usageLimitPolicies from '../store/tables/usage-limit-policies.ts';
import * as workspaces from '../store/tables/workspaces.ts';
import { toSpec as apiKeySpec } from './api-keys/api-key-record.ts';
import { toSpec as configSpec } from './configs/config-record.ts';
import { toSpec as mappingSpec } from './guardrails/guardrail-mapping-record.ts';
import { toSpec as guardrailSpec } from './guardrails/guardrail-record.ts';
import { toSpec as integrationSpec } from './mcp/mcp-integration-record.ts';
import { toSpec as serverSpec } from './mcp/mcp-server-record.ts';
import type { AdminDeps, AdminRequest } from './request/deps.ts';
import { toSpec as policySpec } from './usage-limits/usage-limit-policy-record.ts';
import { toSpec as workspaceSpec } from './workspaces/workspace-record.ts';

const SnapshotResource = z.object({
  kind: z.enum(kindNames),
  id: z.uuid(),
  slug: z.string().nullable(),
  /** Null for a mapping, which has none. */
  name: z.string().nullable(),
  workspace_id: z.uuid().nullable(),
  /** Counts writes; what `If-Match` compares. */
  version: z.int(),
  /** The create body, without nulls; write-only values stand in it as fingerprints. */
  spec: z.record(z.string(), z.json()),
  managed_by: ManagedBy.omit({ take_ownership: true }).nullable(),
});

const Snapshot = z.object({
  object: z.literal('snapshot'),
  organisation_id: z.uuid(),
  /** Base64; the key of the fingerprints, another for each owner. */
  fingerprint_key: z.string(),
  /** API_KEY_PREFIX, for values of keys that the caller makes; '' when unset. */
  api_key_prefix: z.string(),
  resources: z.array(SnapshotResource),
});

const Query = z.object({ owner: ManagedName });

export function snapshotRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      method: 'GET',
      path: '/gatewright/snapshot',
      mounts: { admin: ['access-token'] },
      scope: 'organisation_settings.read',
      summary: 'Get everything sync compares with its manifests, as of one moment',
      query: Query,
      response: Snapshot,
      handle: (request) => snapshot(deps, request),
    }),
  ];
}

async function snapshot(
  deps: AdminDeps,
  request: AdminRequest<Record<string, string>, z.infer<typeof Query>, undefined>,
): Promise<RawReply> {
  const { caller, query, ifNoneMatch } = request;
  if (caller.workspaceId !== null) throw new ApiError('forbidden');
  const fingerprintKey = deps.keyring.fingerprintKey(caller.organisationId, query.owner);
  const rows = await readRows(deps, caller.organisationId);
  const text = JSON.stringify({
    object: 'snapshot',
    organisation_id: caller.organisationId,
    fingerprint_key: fingerprintKey.toString('base64'),
    api_key_prefix: deps.apiKeyPrefix,
    resources: resourcesOf(deps, rows, fingerprintKey),
  });
  const etag = `"${createHash('sha256').update(text).digest('base64url')}"`;
  if (holdsTag(ifNoneMatch, etag)) return new RawReply(304, null, { etag });
  return new RawReply(200, text, { etag });
}

type Rows = Awaited<ReturnType<typeof readRows>>;

/** One query a table. */
function readRows(deps: AdminDeps, organisationId: string) {
  return readConsistently(deps.database.readable, async (tx) => ({
    workspaces: await workspaces.listAllForOrganisation(tx, organisationId),
    guardrails: await guardrails.listAllForOrganisation(tx, organisationId),
    configs: await configs.listAllForOrganisation(tx, organisationId),
    apiKeys: await apiKeys.listAllForOrganisation(tx, organisationId),
    integrations: await mcpIntegrations.listAllForOrganisation(tx, organisationId),
    servers: await mcpServers.listAllForOrganisation(tx, organisationId),
    mappings: await guardrailMappings.listAllForOrganisation(tx, organisationId),
    policies: await usageLimitPolicies.listAllForOrganisation(tx, organisationId),
    managed: await managedResources.listAllForOrganisation(tx, organisationId),
  }));
}

function resourcesOf(deps: AdminDeps, rows: Rows, fingerprintKey: Buffer): unknown[] {
  const managed = new Map(rows.managed.map((row) => [`${row.kind} ${row.resource_id}`, row]));
  const places = new Map(rows.guardrails.map((row) => [row.id, row.workspace_id]));
  const present = <Row extends { id: string; version: number }>(
    kind: KindName,
    list: readonly Row[],
    tell: (row: Row) => {
      spec: Record<string, unknown>;
      slug?: string;
      name?: string | null;
      workspace_id?: string | null;
    },
  ): unknown[] =>
    list.map((row) => {
      const { spec, slug = null, name = null, workspace_id = null } = tell(row);
      const { id, version } = row;
      const owner = managedBy(managed.get(`${kind} ${id}`));
      return { kind, id, slug, name, workspace_id, version, spec, managed_by: owner };
    });
  return [
    ...present('Workspace', rows.workspaces, (row) => ({ ...row, spec: workspaceSpec(row) })),
    ...present('Guardrail', rows.guardrails, (row) => ({ ...row, spec: guardrailSpec(row) })),
    ...present('Config', rows.configs, (row) => ({ ...row, spec: configSpec(row) })),
    ...present('ApiKey', rows.apiKeys, (row) => ({ ...row, spec: apiKeySpec(row) })),
    ...present('McpIntegration', rows.integrations, (row) => ({
      ...row,
      spec: integrationSpec(row, deps.keyring, fingerprintKey),
    })),
    ...present('McpServer', rows.servers, (row) => ({ ...row, spec: serverSpec(row) })),
    ...present('GuardrailMcpBinding', rows.mappings, (row) => ({
      workspace_id: places.get(row.guardrail_id) ?? null,
      spec: mappingSpec(row),
    })),
    ...present('UsageLimitPolicy', rows.policies, (row) => ({ ...row, spec: policySpec(row) })),
  ];
}

function managedBy(row: ManagedResourceRow | undefined): unknown {
  if (row === undefined) return null;
  return {
    owner: row.owner,
    workspace: row.workspace === '' ? null : row.workspace,
    name: row.name,
    source: JSON.parse(row.source),
    last_applied: JSON.parse(row.last_applied),
  };
}
