/** Stores the records of gateways in the database. */
import { definitionFacts, withSeen } from '../../model/mcp/definition-pins.ts';
import type { Database } from '../connection/db.ts';
import type { AuditTrail } from '../logs/audit-log.ts';
import * as mcpAnsweredStates from '../mcp/mcp-answered-states.ts';
import * as mcpDefinitions from '../mcp/mcp-definitions.ts';
import * as mcpIntegrations from '../mcp/mcp-integrations.ts';
import * as mcpSessionNotes from '../mcp/mcp-session-notes.ts';
import * as apiKeys from '../resources/api-keys.ts';
import * as organisations from '../resources/organisations.ts';
import { unlessDuplicate } from '../rows/duplicate.ts';
import * as usageWindows from '../usage/usage-windows.ts';
import type { GatewayRecords, NoteStore, SeenDefinitions } from './gateway-records.ts';

/** Stored definitions of an integration that are not approved and that only callers have received. */
const unapprovedMax = 500;

export function databaseRecords(
  database: Pick<Database, 'db' | 'transaction'>,
  audit: AuditTrail,
): GatewayRecords {
  return {
    storeKeyUse: ({ organisationId, keyId }, now) =>
      apiKeys.updateLastUsed(database.db, { organisation_id: organisationId, id: keyId }, now),
    storeTokenWindows: (token, ...rest) =>
      usageWindows.insertAhead(database.db, { ...token, kind: 'token' }, ...rest),
    storeAnsweredState: (row, now) => mcpAnsweredStates.insertOnce(database.db, row, now),
    removeAnsweredState: (...one) => mcpAnsweredStates.remove(database.db, ...one),
    ...noteStore(database),
    storeSeenDefinitions: (seen) => storeSeenDefinitions(database, audit, seen),
    findOrganisationOfTsg: async (tsgId) =>
      (await organisations.findByTsgId(database.db, tsgId))?.id,
    storeCountedRow: async (row, what) => {
      const ofNothing = { workspaceId: null, resourceId: '', requestId: '' };
      const entry = { ...row, ...what, ...ofNothing, actorKind: 'system' as const };
      // Where it was there already, only the answer was lost.
      await unlessDuplicate(audit(database.db, [entry]));
    },
  };
}

function noteStore(database: Pick<Database, 'db'>): NoteStore {
  return {
    putNote: (organisation_id, api_key_id, { sessionId: session_id, name, value }, expires_at) => {
      const row = { organisation_id, session_id, name, api_key_id, value, expires_at };
      return mcpSessionNotes.put(database.db, row);
    },
    listNotes: async (organisationId, sessionIds) => {
      const rows = await mcpSessionNotes.listOfSessions(database.db, organisationId, sessionIds);
      return rows.map(({ session_id: sessionId, name, value }) => ({ sessionId, name, value }));
    },
    removeNotes: (...one) => mcpSessionNotes.remove(database.db, ...one),
  };
}

async function storeSeenDefinitions(
  database: Pick<Database, 'transaction'>,
  audit: AuditTrail,
  { place, definitions, at }: SeenDefinitions,
): Promise<void> {
  const { organisationId, integrationId } = place;
  await database.transaction(async (tx) => {
    const integration = await mcpIntegrations.findByIdOrSlugForUpdate(
      tx,
      organisationId,
      integrationId,
    );
    if (integration === undefined) return;
    const names = definitions.map(({ name }) => name);
    const current = await mcpDefinitions.listByNames(tx, place, names);
    const room = unapprovedMax - (await mcpDefinitions.countUnapproved(tx, place));
    const terms = { at, isComplete: false, isFirst: false, room };
    const rows = withSeen(current, definitions, terms);
    await mcpDefinitions.put(tx, place, rows);
    const facts = definitionFacts(rows);
    if (facts === undefined) return;
    const entry = {
      organisationId,
      workspaceId: integration.workspace_id,
      at,
      actorKind: 'system' as const,
      actorId: 'mcp-gateway',
      action: 'update',
      resourceKind: 'McpIntegration',
      resourceId: integrationId,
      requestId: '',
      changes: { definitions: facts },
    };
    await audit(tx, [entry]);
  });
}
