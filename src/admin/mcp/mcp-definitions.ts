/**
 * HTTP routes for the definitions of MCP integrations: which are approved, and approval of newer ones
 * (docs/reference/mcp.md, Definitions).
 */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { documentBodyLimits } from '../../model/json/body-limits.ts';
import { digestOfSet } from '../../model/mcp/definition.ts';
import { DefinitionFinding } from '../../model/mcp/definition-finding.ts';
import {
  definitionsMax,
  findingOf,
  type PinnedDefinition,
  readWarnings,
} from '../../model/mcp/definition-pins.ts';
import {
  DefinitionDigest,
  DefinitionPolicy,
  definitionState,
  definitionStates,
} from '../../model/mcp/definition-state.ts';
import { definitionWarningCodes } from '../../model/mcp/definition-warnings.ts';
import { McpCapabilityType } from '../../model/mcp/mcp-integration.ts';
import { described } from '../../model/wire/described.ts';
import { formatTimestampOrNull, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import * as mcpDefinitions from '../../store/mcp/mcp-definitions.ts';
import type { StoredMcpIntegration } from '../../store/mcp/mcp-integrations.ts';
import { type AdminDeps, everyMount, forOwners } from '../request/deps.ts';
import {
  type BodyRequest,
  type ItemRequest,
  updateFields,
  WorkspaceQuery,
} from '../request/frame-fields.ts';
import { updateResource } from '../request/resource-change.ts';
import { withVersionTag } from '../request/version.ts';
import { findIntegration, integrationChanging, mcpScopes } from './mcp-access.ts';
import { approveDefinitions, placeOf } from './mcp-definition-changes.ts';

const DefinitionItem = DefinitionFinding.omit({ warnings: true }).extend({
  /** As the server spells it, for approvals. */
  name: z.string(),
  approved_at: ResponseTimestamp.nullable(),
  last_seen_at: ResponseTimestamp.nullable(),
  warnings: z.array(
    z.object({ code: z.enum(definitionWarningCodes), field: z.string(), excerpt: z.string() }),
  ),
});

const Counts = z.object({
  ...Object.fromEntries(definitionStates.map((state) => [state, z.int().min(0)])),
  suspicious: z.int().min(0),
});

const Definitions = z.object({
  object: z.literal('list'),
  definition_policy: DefinitionPolicy,
  /** Null before there are approved definitions. */
  approved_by: z.enum(['first_sync', 'declared']).nullable(),
  /** Digest of all approved definitions; equal sets have equal digests. */
  approved_digest: z.string(),
  /** Digest of all definitions that the server showed last. */
  seen_digest: z.string(),
  counts: Counts,
  data: z.array(DefinitionItem),
});

const ApproveBody = z.object({
  workspace_id: updateFields.workspace_id,
  definitions: described(
    z
      .array(
        z.strictObject({
          type: described(McpCapabilityType.clone(), 'Type of the capability.'),
          name: described(
            z.string().min(1).max(1020),
            'Name at the server; of resources and templates the address.',
          ),
          digest: described(
            DefinitionDigest.nullable(),
            'Digest of the newest definition, as the list returns it; null approves that it is gone.',
          ),
        }),
      )
      .min(1)
      .max(definitionsMax),
    'Definitions that are approved as they were last seen.',
  ),
});
const ApproveAnswer = z.object({ success: z.literal(true), approved: z.int().min(0) });

export function mcpDefinitionRoutes(deps: AdminDeps): Route<Principal>[] {
  const path = '/mcp-integrations/:mcpIntegrationId/definitions';
  return [
    route({
      mounts: everyMount,
      method: 'GET',
      path,
      scope: mcpScopes.either('read'),
      summary: 'List the definitions of an MCP integration with their states and differences',
      query: WorkspaceQuery,
      response: Definitions,
      handle: (request) => list(deps, request),
    }),
    route({
      ...forOwners,
      mounts: everyMount,
      method: 'POST',
      path: `${path}/approve`,
      isRepeatable: true,
      versioned: true,
      scope: mcpScopes.either('update'),
      summary: 'Approve definitions of an MCP integration as they were last seen',
      body: ApproveBody,
      bodyLimits: documentBodyLimits,
      response: ApproveAnswer,
      handle: (request) => approve(deps, request),
    }),
  ];
}

async function list(deps: AdminDeps, request: ItemRequest) {
  const db = deps.database.readable;
  const row = await findIntegration(db, request, request.query.workspace_id);
  const definitions = await mcpDefinitions.listByIntegration(db, placeOf(row));
  return withVersionTag(recordOf(row, definitions), row);
}

function recordOf(
  row: StoredMcpIntegration,
  definitions: readonly PinnedDefinition[],
): z.infer<typeof Definitions> {
  const countOf = (state: (typeof definitionStates)[number]): number =>
    definitions.filter((one) => definitionState(one) === state).length;
  const digestBy = (column: 'approved_digest' | 'seen_digest'): string =>
    digestOfSet(
      definitions
        .filter((one) => one[column] !== null)
        .map((one) => ({ type: one.type, name: one.name, digest: one[column] })),
    );
  return {
    object: 'list',
    definition_policy: row.definition_policy ?? 'observe',
    approved_by: row.definitions_from,
    approved_digest: digestBy('approved_digest'),
    seen_digest: digestBy('seen_digest'),
    counts: {
      ...Object.fromEntries(definitionStates.map((state) => [state, countOf(state)])),
      suspicious: definitions.filter(({ warnings }) => warnings !== null).length,
    },
    data: definitions.map((one) => ({
      ...findingOf(one),
      name: one.name,
      approved_at: formatTimestampOrNull(one.approved_at),
      last_seen_at: formatTimestampOrNull(one.seen_at),
      warnings: readWarnings(one),
    })),
  };
}

async function approve(deps: AdminDeps, request: BodyRequest<z.infer<typeof ApproveBody>>) {
  const { body } = request;
  let approved = 0;
  await updateResource(deps, request, integrationChanging, {
    columns: () => ({}),
    writeElsewhere: async (tx, row) => {
      approved = await approveDefinitions(tx, deps, request, row, body.definitions);
      return approved > 0 ? ['definitions'] : [];
    },
  });
  return { success: true as const, approved };
}
