/** Creates what a deployment needs before it can be called: an organisation, a service account and an API key. */
import { randomBytes, randomInt } from 'node:crypto';
import { Failure } from '../failure.ts';
import {
  formatResource,
  serviceAccountPrincipal,
  tsgIdPattern,
} from '../model/people/access-policy.ts';
import { makeApiKey, maskApiKey } from '../model/people/credentials.ts';
import { allScopes } from '../model/people/scopes.ts';
import { accountNamePattern } from '../model/people/service-account.ts';
import { newId } from '../model/wire/ids.ts';
import { Secret } from '../secret.ts';
import type { Database, Db } from './connection/db.ts';
import { auditTrail } from './logs/audit-log.ts';
import { insertOrganisation } from './new-organisation.ts';
import * as accessPolicies from './people/access-policies.ts';
import * as serviceAccountProfiles from './people/service-account-profiles.ts';
import * as serviceAccounts from './people/service-accounts.ts';
import * as apiKeys from './resources/api-keys.ts';
import * as organisations from './resources/organisations.ts';
import { isDuplicateEntry } from './rows/duplicate.ts';

const clientSecretBytes = 32;

interface CredentialHasher {
  readonly hashCredential: (credential: string) => Buffer;
  readonly pepperId: string;
}

export interface TenantOptions {
  /** Hashes credentials under the deployment's pepper (a Keyring). */
  readonly keyring: CredentialHasher;
  /** Ten digits; random when absent. */
  readonly tsgId?: string | undefined;
  /** Name of the service account and its key, and of a new organisation; a DNS label. */
  readonly name: string;
  /** Address of a new organisation's owner; an unused internal address when absent. */
  readonly ownerEmail?: string | undefined;
  /** API_KEY_PREFIX. */
  readonly apiKeyPrefix: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** AUDIT_LOGS_ENABLED; default true. */
  readonly auditLogs?: boolean;
}

/** A service account with its secret, of which the database stores only the HMAC. */
export interface BootstrappedAccount {
  readonly organisationId: string;
  readonly tsgId: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
}

/** Contains the only copy of both secrets. */
export interface BootstrappedTenant extends BootstrappedAccount {
  readonly organisationApiKey: Secret;
}

/**
 * Creates in one transaction a service account with the role superuser on the TSG, an organisation API
 * key with every scope, and the organisation with its owner if the TSG has none. Throws a Failure when
 * the name is invalid or taken in the TSG.
 */
export async function bootstrapTenant(
  database: Database,
  options: TenantOptions,
): Promise<BootstrappedTenant> {
  const tsgId = options.tsgId ?? String(randomInt(1_000_000_000, 10_000_000_000));
  requireValidNames(tsgId, options.name);
  const clientSecret = new Secret(
    randomBytes(clientSecretBytes).toString('base64url'),
    'bootstrap',
  );
  const organisationApiKey = new Secret(makeApiKey(options.apiKeyPrefix), 'bootstrap');
  try {
    return await database.transaction(async (tx) => {
      const { accountId, ...account } = await insertAccount(tx, tsgId, options, clientSecret);
      const key = { id: newId(), value: organisationApiKey.reveal(), createdBy: accountId };
      await insertOrganisationKey(tx, account.organisationId, options, key);
      await insertAudit(tx, account.organisationId, options, [['ApiKey', key.id]]);
      return { ...account, organisationApiKey };
    });
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

/**
 * Returns the service account of that name with the role superuser on the TSG, and creates it with the
 * organisation if it is missing. `secretOf` derives its secret from the client id. Concurrent calls get the
 * same account. Throws a Failure when the account has another secret.
 */
export async function ensureAccount(
  database: Database,
  options: TenantOptions & { readonly tsgId: string },
  secretOf: (clientId: string) => Secret,
): Promise<BootstrappedAccount> {
  const { tsgId, name, keyring } = options;
  requireValidNames(tsgId, name);
  const clientId = serviceAccountPrincipal(name, tsgId);
  const clientSecret = secretOf(clientId);
  try {
    await database.transaction(async (tx) => {
      if ((await serviceAccounts.findByClientId(tx, clientId)) !== undefined) return;
      await insertAccount(tx, tsgId, options, clientSecret);
    });
  } catch (error) {
    // A concurrent call has created it.
    if (!isDuplicateEntry(error)) throw error;
  }
  const account = await serviceAccounts.findByClientId(database.db, clientId);
  const organisation = await organisations.findByTsgId(database.db, tsgId);
  if (account?.secret_hmac.equals(keyring.hashCredential(clientSecret.reveal())) !== true) {
    throw new Failure(
      'refusedByGuard',
      `TSG ${tsgId} has a service account named ${name} already, and its secret is another one. ` +
        'Choose another name.',
    );
  }
  return { organisationId: organisation!.id, tsgId, clientId, clientSecret };
}

function requireValidNames(tsgId: string, name: string): void {
  if (!tsgIdPattern.test(tsgId)) {
    throw new Failure('invalidInput', `The TSG id ${tsgId} is not a 10-digit number.`);
  }
  if (!accountNamePattern.test(name)) {
    throw new Failure(
      'invalidInput',
      `The name ${JSON.stringify(name)} is not made of lower-case letters, digits and ` +
        'inner dashes, at most 63.',
    );
  }
}

async function insertAccount(
  tx: Db,
  tsgId: string,
  options: TenantOptions,
  clientSecret: Secret,
): Promise<BootstrappedAccount & { readonly accountId: string }> {
  const { name, now, keyring } = options;
  const organisationId = await findOrInsertOrganisation(tx, tsgId, options);
  const clientId = serviceAccountPrincipal(name, tsgId);
  const accountId = newId();
  await serviceAccounts.insert(tx, {
    id: accountId,
    tsg_id: tsgId,
    name,
    client_id: clientId,
    secret_hmac: keyring.hashCredential(clientSecret.reveal()),
    pepper_id: keyring.pepperId,
    created_at: now,
  });
  await serviceAccountProfiles.insert(tx, {
    id: accountId,
    organisation_id: organisationId,
    workspace_id: null,
    name,
    description: null,
    status: 'active',
    creation_mode: 'auto',
    rotation_policy: null,
    rotated_at: null,
    transition_expires_at: null,
    created_by: 'bootstrap',
    created_at: now,
    last_updated_at: now,
  });
  const policyId = newId();
  await accessPolicies.insert(tx, {
    id: policyId,
    tsg_id: tsgId,
    principal: clientId,
    resource: formatResource(tsgId, null),
    role: 'superuser',
    created_at: now,
  });
  await insertAudit(tx, organisationId, options, [
    ['ServiceAccount', accountId],
    ['AccessPolicy', policyId],
  ]);
  return { organisationId, tsgId, clientId, clientSecret, accountId };
}

async function findOrInsertOrganisation(
  tx: Db,
  tsgId: string,
  options: TenantOptions,
): Promise<string> {
  const existing = await organisations.findByTsgId(tx, tsgId);
  if (existing !== undefined) return existing.id;
  if (await organisations.isDeleted(tx, tsgId)) {
    throw new Failure(
      'refusedByGuard',
      `TSG ${tsgId} was deleted, and its id cannot be used again.`,
    );
  }
  const { name, ownerEmail, now } = options;
  const { id, ownerId } = await insertOrganisation(tx, {
    tsgId,
    parentTsgId: null,
    name,
    ownerEmail,
    now,
  });
  await insertAudit(tx, id, options, [
    ['Organisation', id],
    ['User', ownerId],
  ]);
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
  created: readonly (readonly [kind: string, id: string])[],
): Promise<void> {
  await auditTrail(auditLogs)(
    tx,
    created.map(([resourceKind, resourceId]) => ({
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
