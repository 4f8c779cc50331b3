/** Knows what a deployment needs before anyone can call it: an organisation, a service account, a key. */
import { randomBytes, randomInt } from 'node:crypto';
import { Failure } from '../failure.ts';
import { formatResource, serviceAccountPrincipal, tsgIdPattern } from '../model/access-policy.ts';
import { makeApiKey, maskApiKey } from '../model/credentials.ts';
import { newId } from '../model/ids.ts';
import { allScopes } from '../model/scopes.ts';
import { Secret } from '../secret.ts';
import type { Database, Db } from './connection/db.ts';
import * as accessPolicies from './tables/access-policies.ts';
import * as apiKeys from './tables/api-keys.ts';
import { auditTrail } from './tables/audit-log.ts';
import { isDuplicateEntry } from './tables/duplicate.ts';
import * as organisations from './tables/organisations.ts';
import * as serviceAccounts from './tables/service-accounts.ts';

/** Names of service accounts made here: DNS labels. */
export const accountNamePattern = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const clientSecretBytes = 32;

interface CredentialHasher {
  readonly hashCredential: (credential: string) => Buffer;
  readonly pepperId: string;
}

export interface TenantOptions {
  /** Hashes credentials under the deployment's pepper (a Keyring). */
  readonly keyring: CredentialHasher;
  /** Ten digits; a new one when left out. */
  readonly tsgId?: string | undefined;
  /** Of the service account and its key, and of the organisation when it is new: a DNS label. */
  readonly name: string;
  /** API_KEY_PREFIX. */
  readonly apiKeyPrefix: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** AUDIT_LOGS_ENABLED; true when left out. */
  readonly auditLogs?: boolean;
}

/** Both secrets exist here only: the database keeps their hashes. */
export interface Tenant {
  readonly organisationId: string;
  readonly tsgId: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
  readonly organisationApiKey: Secret;
}

/**
 * Makes, in one transaction, a service account that is superuser of the TSG and an organisation API
 * key with every scope; and the organisation where the TSG has none. Throws a Failure when the name
 * is ill-formed or taken in that TSG.
 */
export async function bootstrapTenant(database: Database, options: TenantOptions): Promise<Tenant> {
  const tsgId = options.tsgId ?? String(randomInt(1_000_000_000, 10_000_000_000));
  if (!tsgIdPattern.test(tsgId)) {
    throw new Failure('invalidInput', `The TSG id ${tsgId} is not a 10-digit number.`);
  }
  if (!accountNamePattern.test(options.name)) {
    throw new Failure(
      'invalidInput',
      `The name ${JSON.stringify(options.name)} is not made of lower-case letters, digits and ` +
        'inner dashes, at most 63.',
    );
  }
  const secrets = {
    clientSecret: new Secret(randomBytes(clientSecretBytes).toString('base64url'), 'bootstrap'),
    organisationApiKey: new Secret(makeApiKey(options.apiKeyPrefix), 'bootstrap'),
  };
  try {
    return await database.transaction((tx) => insertTenant(tx, tsgId, options, secrets));
  } catch (error) {
    if (!isDuplicateEntry(error)) throw error;
    throw new Failure(
      'refusedByGuard',
      `TSG ${tsgId} has a service account named ${options.name} already, and its secret cannot be ` +
        'shown again. Choose another name.',
      { cause: error },
    );
  }
}

async function insertTenant(
  tx: Db,
  tsgId: string,
  options: TenantOptions,
  secrets: Pick<Tenant, 'clientSecret' | 'organisationApiKey'>,
): Promise<Tenant> {
  const { name, now, keyring } = options;
  const organisationId = await findOrInsertOrganisation(tx, tsgId, options);
  const clientId = serviceAccountPrincipal(name, tsgId);
  const account = {
    id: newId(),
    tsg_id: tsgId,
    name,
    client_id: clientId,
    secret_hmac: keyring.hashCredential(secrets.clientSecret.reveal()),
    pepper_id: keyring.pepperId,
    created_at: now,
  };
  await serviceAccounts.insert(tx, account);
  const policy = {
    id: newId(),
    tsg_id: tsgId,
    principal: clientId,
    resource: formatResource(tsgId, null),
    role: 'superuser',
    created_at: now,
  };
  await accessPolicies.insert(tx, policy);
  const key = {
    id: newId(),
    value: secrets.organisationApiKey.reveal(),
    createdBy: account.id,
  };
  await insertOrganisationKey(tx, organisationId, options, key);
  await insertAudit(tx, organisationId, options, [
    ['ServiceAccount', account.id],
    ['AccessPolicy', policy.id],
    ['ApiKey', key.id],
  ]);
  return { organisationId, tsgId, clientId, ...secrets };
}

async function findOrInsertOrganisation(
  tx: Db,
  tsgId: string,
  options: TenantOptions,
): Promise<string> {
  const existing = await organisations.findByTsgId(tx, tsgId);
  if (existing !== undefined) return existing.id;
  const id = newId();
  await organisations.insert(tx, {
    id,
    tsg_id: tsgId,
    parent_tsg_id: null,
    name: options.name,
    api_key_max_ttl_days: null,
    created_at: options.now,
  });
  await insertAudit(tx, id, options, [['Organisation', id]]);
  return id;
}

async function insertOrganisationKey(
  tx: Db,
  organisationId: string,
  { name, now, keyring }: TenantOptions,
  key: { id: string; value: string; createdBy: string },
): Promise<void> {
  await apiKeys.insert(tx, {
    id: key.id,
    organisation_id: organisationId,
    workspace_id: null,
    user_id: null,
    type: 'organisation-service',
    name,
    description: null,
    hash: keyring.hashCredential(key.value),
    pepper_id: keyring.pepperId,
    key_mask: maskApiKey(key.value),
    status: 'active',
    creation_mode: 'auto',
    scopes: JSON.stringify(allScopes),
    rate_limits: null,
    usage_limits: null,
    metadata: null,
    config_id: null,
    allow_config_override: null,
    alert_emails: null,
    expires_at: null,
    rotation_policy: null,
    rotated_at: null,
    transition_expires_at: null,
    last_reset_at: null,
    last_used_at: null,
    created_by: key.createdBy,
    created_at: now,
    last_updated_at: now,
  });
}

async function insertAudit(
  tx: Db,
  organisationId: string,
  { now, name, auditLogs = true }: TenantOptions,
  made: readonly (readonly [kind: string, id: string])[],
): Promise<void> {
  await auditTrail(auditLogs)(
    tx,
    made.map(([resourceKind, resourceId]) => ({
      organisationId,
      workspaceId: null,
      at: now,
      actorKind: 'system' as const,
      actorId: 'bootstrap',
      action: 'create',
      resourceKind,
      resourceId,
      requestId: '',
      changes: { name },
    })),
  );
}
