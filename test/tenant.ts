/** Knows how a test gets a second tenant on a server, and callers with fewer rights than all. */
import { bootstrapTenant } from '../src/store/bootstrap.ts';
import { exchange, fetchToken, type TestResponse, type TestServer } from './server.ts';

export type Send = (
  method: string,
  path: string,
  options?: { readonly body?: unknown; readonly headers?: Record<string, string> },
) => Promise<TestResponse>;

/** Another organisation on the same server, with a superuser of its own. */
export async function addTenant(
  server: TestServer,
  name = 'other',
): Promise<{ readonly tsgId: string; readonly organisationId: string; readonly send: Send }> {
  const tenant = await bootstrapTenant(server.app.database, {
    keyring: server.app.keyring,
    name,
    apiKeyPrefix: '',
    now: server.clock.now(),
  });
  const clientSecret = tenant.clientSecret.reveal();
  const token = await fetchToken(server.url, { ...tenant, clientSecret });
  return {
    tsgId: tenant.tsgId,
    organisationId: tenant.organisationId,
    send: senderWith(server, { authorization: `Bearer ${token}` }),
  };
}

/** Makes an API key with these scopes, bound to the workspace when one is named, and calls with it. */
export async function addKeyCaller(
  server: TestServer,
  scopes: readonly string[],
  workspaceId?: string,
): Promise<{ readonly id: string; readonly key: string; readonly send: Send }> {
  const type = workspaceId === undefined ? 'organisation' : 'workspace';
  const made = await server.request('POST', `/v1/api-keys/${type}/service`, {
    body: { name: 'caller', scopes, workspace_id: workspaceId },
  });
  if (made.status !== 200) throw new Error(`no key: ${JSON.stringify(made.body)}`);
  const { id, key } = made.body;
  return { id, key, send: senderWith(server, { 'x-gateway-api-key': key }) };
}

interface AuditEntry {
  readonly action: string;
  readonly resource_kind: string;
  readonly request_id: string;
  readonly changes: Record<string, unknown>;
}

/** The rows of the audit log about one resource, oldest first, with `changes` parsed. */
export async function listAudit(server: TestServer, resourceId: string): Promise<AuditEntry[]> {
  const rows = await server.database.db
    .selectFrom('audit_log')
    .select(['action', 'resource_kind', 'request_id', 'changes'])
    .where('resource_id', '=', resourceId)
    .orderBy('id')
    .execute();
  return rows.map((row) => ({ ...row, changes: JSON.parse(row.changes) }));
}

function senderWith(server: TestServer, credential: Record<string, string>): Send {
  return (method, path, { body, headers = {} } = {}) =>
    exchange(method, server.url + path, body, { ...credential, ...headers });
}
