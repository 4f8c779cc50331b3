/** Reads what the MCP gateway needs of a server: its integration, access, capabilities and guardrails. */
import type { McpCapabilityType } from '../../model/mcp/mcp-integration.ts';
import { isGranted } from '../../model/providers/integration-access.ts';
import { readMappings } from '../../model/secrets/secret-mapping.ts';
import { readDocument } from '../../model/wire/json-record.ts';
import type { WorkspaceDefaults } from '../../model/workspaces/workspace.ts';
import type { Db } from '../connection/db.ts';
import * as mcpCapabilities from '../mcp/mcp-capabilities.ts';
import * as mcpDefinitions from '../mcp/mcp-definitions.ts';
import * as mcpIntegrationWorkspaces from '../mcp/mcp-integration-workspaces.ts';
import * as mcpIntegrations from '../mcp/mcp-integrations.ts';
import * as mcpServerCapabilities from '../mcp/mcp-server-capabilities.ts';
import * as mcpServerUsers from '../mcp/mcp-server-users.ts';
import * as mcpServers from '../mcp/mcp-servers.ts';
import * as guardrailExclusions from '../resources/guardrail-exclusions.ts';
import * as guardrailMappings from '../resources/guardrail-mappings.ts';
import * as guardrails from '../resources/guardrails.ts';
import * as organisationDefaults from '../resources/organisation-defaults.ts';
import * as secretReferences from '../resources/secret-references.ts';
import * as workspaces from '../resources/workspaces.ts';
import { listGenerations } from '../rows/snapshot-marks.ts';

/** A guardrail that a server or its workspace names. */
export type McpGuardrailRow = Omit<
  guardrails.StoredGuardrail,
  'owner_id' | 'updated_by' | 'mappings_version'
>;

export interface McpServerReading {
  /** The organisation's generation before the read, so that it is never newer than the rows. */
  readonly generation: string;
  readonly server: mcpServers.StoredMcpServer;
  readonly integration: mcpIntegrations.StoredMcpIntegration;
  /** Access of the server's workspace to the integration; undefined without a row. */
  readonly grant: { readonly enabled: number } | undefined;
  readonly users: readonly mcpServerUsers.StoredMcpServerUser[];
  readonly capabilities: readonly mcpCapabilities.CapabilityAddress[];
  /** Approved and newest definitions; empty before the first sync. */
  readonly definitions: readonly mcpDefinitions.DefinitionDigests[];
  /** The server's own settings. */
  readonly ownCapabilities: readonly {
    readonly type: McpCapabilityType;
    readonly name: string;
    readonly enabled: number;
  }[];
  readonly mappings: readonly guardrailMappings.StoredGuardrailMapping[];
  /** Guardrails on every call of the workspace. */
  readonly defaults: McpDefaults;
  /** Guardrails of the mappings and the defaults. */
  readonly guardrails: readonly McpGuardrailRow[];
  /** Secret references from which the integration takes values. */
  readonly references: readonly secretReferences.ReadableReference[];
}

async function readGuardrails(
  db: Db,
  organisationId: string,
  references: readonly string[],
): Promise<guardrails.StoredGuardrail[]> {
  const rows = [...new Set(references)].map((reference) =>
    guardrails.findByIdOrSlug(db, organisationId, reference),
  );
  return (await Promise.all(rows)).filter((row) => row !== undefined);
}

async function readReferences(
  db: Db,
  {
    organisation_id: organisationId,
    secret_mappings: mappings,
  }: mcpIntegrations.StoredMcpIntegration,
): Promise<secretReferences.SecretReferenceWithWorkspaces[]> {
  const ids = [...new Set(readMappings(mappings).map((one) => one.reference_id))];
  const rows = ids.length === 0 ? [] : await secretReferences.listByIds(db, organisationId, ids);
  return secretReferences.withWorkspaces(db, organisationId, rows);
}

/** Ids or slugs of guardrails. */
export interface McpDefaults {
  readonly input: readonly string[];
  readonly output: readonly string[];
}

/** Lists those of the organisation first, unless the workspace is excluded from them. */
async function readDefaults(
  db: Db,
  organisationId: string,
  workspaceId: string,
): Promise<McpDefaults> {
  const everywhere = await organisationDefaults.find(db, organisationId);
  const excluded = await guardrailExclusions.findByWorkspace(db, organisationId, workspaceId);
  const workspace = await workspaces.findByIdOrSlug(db, organisationId, workspaceId);
  return mcpDefaults(everywhere, excluded, workspace);
}

export function mcpDefaults(
  everywhere: organisationDefaults.StoredDefaults,
  excluded: guardrailExclusions.StoredGuardrailExclusion | undefined,
  workspace: Pick<workspaces.StoredWorkspace, 'defaults'> | undefined,
): McpDefaults {
  const own = readDocument<WorkspaceDefaults>(workspace?.defaults ?? null) ?? {};
  const inherited = (text: string | null, excludes: number | undefined): string[] =>
    excludes === 1 ? [] : (JSON.parse(text ?? '[]') as string[]);
  return {
    input: [
      ...inherited(everywhere.mcp_input_guardrails, excluded?.input_guardrails),
      ...(own.mcp_input_guardrails ?? []),
    ],
    output: [
      ...inherited(everywhere.mcp_output_guardrails, excluded?.output_guardrails),
      ...(own.mcp_output_guardrails ?? []),
    ],
  };
}

/** Whether a caller may use a server under its slug; `callerWorkspaceId` is null for callers that reach all. */
export function isServerUsable(
  { server, integration, grant }: Pick<McpServerReading, 'server' | 'integration' | 'grant'>,
  slug: string,
  callerWorkspaceId: string | null,
): boolean {
  return (
    server.slug === slug &&
    (callerWorkspaceId === null || callerWorkspaceId === server.workspace_id) &&
    server.status === 'active' &&
    integration.status === 'active' &&
    isGranted(integration, grant, server.workspace_id)
  );
}

/** Stands for the integration and the workspace of a server that does not exist. */
const nobody = '00000000-0000-0000-0000-000000000000';

/**
 * Undefined when there is no such server, or it may not be used: archived, of another workspace, or of an
 * integration that its workspace may not use. All of these cost the same statements, so that their times are
 * the same. `callerWorkspaceId` is null for callers that reach all workspaces.
 */
export async function findMcpServer(
  db: Db,
  organisationId: string,
  slug: string,
  callerWorkspaceId: string | null,
): Promise<McpServerReading | undefined> {
  const generations = await listGenerations(db, [organisationId]);
  const server = await mcpServers.findByIdOrSlug(db, organisationId, slug);
  const { mcp_integration_id: integrationId = nobody, workspace_id: workspaceId = nobody } =
    server ?? {};
  const integration = await mcpIntegrations.findByIdOrSlug(db, organisationId, integrationId);
  const [grant] = await mcpIntegrationWorkspaces.listBetween(
    db,
    organisationId,
    [integrationId],
    [workspaceId],
  );
  if (server === undefined || integration === undefined) return undefined;
  if (!isServerUsable({ server, integration, grant }, slug, callerWorkspaceId)) return undefined;
  const { id } = server;
  const mappings = await guardrailMappings.listByServer(db, organisationId, id);
  const defaults = await readDefaults(db, organisationId, workspaceId);
  const named = [
    ...mappings.map((mapping) => mapping.guardrail_id),
    ...defaults.input,
    ...defaults.output,
  ];
  return {
    generation: generations.get(organisationId)!,
    server,
    integration,
    grant,
    users: await mcpServerUsers.listByServer(db, organisationId, id),
    capabilities: await mcpCapabilities.listAddresses(db, organisationId, integrationId),
    definitions:
      integration.definitions_from === null
        ? []
        : await mcpDefinitions.listDigests(db, { organisationId, integrationId }),
    ownCapabilities: await mcpServerCapabilities.listByServer(db, organisationId, id),
    mappings,
    defaults,
    guardrails: await readGuardrails(db, organisationId, named),
    references: await readReferences(db, integration),
  };
}
