/** Adds a second tenant to a server, and callers with limited rights. */
import { randomUUID } from 'node:crypto';
import { createAccessTokens } from '../../../src/auth/access-token.ts';
import {
  formatResource,
  serviceAccountPrincipal,
} from '../../../src/model/people/access-policy.ts';
import { bootstrapTenant } from '../../../src/store/bootstrap.ts';
import * as accessPolicies from '../../../src/store/people/access-policies.ts';
import * as serviceAccounts from '../../../src/store/people/service-accounts.ts';
import { exchange, type TestResponse } from '../network/exchange.ts';
import { fetchToken, type TestServer } from './server.ts';

export type Send = (
  method: string,
  path: string,
  options?: { readonly body?: unknown; readonly headers?: Record<string, string> },
) => Promise<TestResponse>;

/** Adds an organisation to the same server, with its own superuser. */
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

/**
 * Creates an API key with these scopes, bound to the workspace when one is given, and returns its
 * caller.
 */
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

/** Creates a service account of the server's own tenant, with this role on all of it. */
export async function addServiceAccount(
  server: TestServer,
  role: string,
): Promise<{ readonly clientId: string; readonly clientSecret: string; readonly send: Send }> {
  const id = randomUUID();
  const [clientId, clientSecret, name] = [
    `client-${id}`,
    randomUUID(),
    `account-${id.slice(0, 8)}`,
  ];
  await server.database.db
    .insertInto('service_accounts')
    .values({
      id,
      tsg_id: server.tsgId,
      name,
      client_id: clientId,
      secret_hmac: server.app.keyring.hashCredential(clientSecret),
      pepper_id: server.app.keyring.pepperId,
      created_at: server.clock.now(),
    })
    .execute();
  await server.request('POST', '/iam/v1/access_policies', {
    body: {
      principal: serviceAccountPrincipal(name, server.tsgId),
      resource: `prn:${server.tsgId}::::`,
      role,
    },
  });
  const token = await fetchToken(server.url, { clientId, clientSecret, tsgId: server.tsgId });
  const send = senderWith(server, { authorization: `Bearer ${token}` });
  return { clientId, clientSecret, send };
}

/** Calls as the server's own service account, with a token that is bound to this workspace. */
export async function bindToWorkspace(server: TestServer, workspaceId: string): Promise<Send> {
  const token = await boundToken(server, workspaceId);
  return senderWith(server, { authorization: `Bearer ${token}` });
}

/** A token of the server's own service account for this workspace. */
export async function boundToken(server: TestServer, workspaceId: string): Promise<string> {
  const { database, tsgId, clientId } = server;
  const account = await serviceAccounts.findByClientId(database.db, clientId);
  const role = 'superuser';
  await accessPolicies.insert(database.db, {
    id: randomUUID(),
    tsg_id: tsgId,
    principal: serviceAccountPrincipal(account!.name, tsgId),
    resource: formatResource(tsgId, workspaceId),
    role,
    created_at: server.clock.now(),
  });
  const grant = { serviceAccountId: account!.id, tsgId, workspaceId, roles: [role] };
  return createAccessTokens(server.app.keyring).issue(grant, server.clock.now());
}

/** An unknown id or slug of the same form. */
export function unknownLike(name: string): string {
  if (/^\d{10}$/.test(name)) return '9876543210';
  return name.length === 36 ? randomUUID() : `${name.slice(0, -6)}ffffff`;
}

interface AuditEntry {
  readonly action: string;
  readonly resource_kind: string;
  readonly request_id: string;
  readonly changes: Record<string, unknown>;
}

/** Audit rows of one resource, oldest first, with `changes` parsed. */
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
