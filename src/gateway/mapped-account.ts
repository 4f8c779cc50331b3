/** Knows which values of secret managers an account takes, and what it is with them in their fields. */

import { createHash } from 'node:crypto';
import type { Unsealer } from '../auth/keyring.ts';
import { authPlaces } from '../auth/reference-secrets.ts';
import { openSecrets } from '../auth/secret-values.ts';
import { accountOf } from '../model/config-tree.ts';
import { configurationSecrets } from '../model/configuration-secrets.ts';
import type { IntegrationConfigurations } from '../model/integration.ts';
import { readDocument } from '../model/json-record.ts';
import type { AuthConfig } from '../model/secret-manager.ts';
import { readMappings } from '../model/secret-mapping.ts';
import { Secret } from '../secret.ts';
import { type KeptSecret, SecretUnreadable, textOf } from '../secret-managers/kept-secret.ts';
import type { SecretPlace } from '../secret-managers/secret-managers.ts';
import type { PlacedSecretReference } from '../store/tables/secret-references.ts';

type Headers = Readonly<Record<string, string>>;

/** What goes to a service beside the request: all of it comes from the integration. */
export interface Account {
  /** By the names that a config has for it. */
  readonly account: Readonly<Record<string, string>>;
  readonly credential: Secret | null;
  readonly customHost: string | null;
  /** Names in lower case, as they are sent. */
  readonly headers: Secret<Headers>;
}

/** An account before anything is put into it, secrets open. */
export interface OpenedAccount {
  readonly key: string | null;
  readonly configurations: IntegrationConfigurations;
}

/** A field that takes a value. */
export interface MappedField {
  /** `key`, or a path below the configurations. */
  readonly target: readonly string[];
  /** Field of the secret; null for all of it. */
  readonly secretKey: string | null;
  readonly isJson: boolean;
  readonly place: SecretPlace;
  readonly slug: string;
  readonly isAllowed: boolean;
}

const secretNames = new Set(configurationSecrets);

/** `origin` is what is shown in place of secrets. */
export function accountWith({ key, configurations }: OpenedAccount, origin: string): Account {
  // No service is asked yet in a way that takes the secrets among them.
  const readable = Object.entries(configurations).filter(([name]) => !secretNames.has(name));
  const headers = Object.entries(configurations.custom_headers ?? {});
  return {
    account: accountOf(Object.fromEntries(readable)) ?? {},
    credential: key === null ? null : new Secret(key, origin),
    customHost: configurations.custom_host ?? null,
    headers: new Secret(
      Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])),
      origin,
    ),
  };
}

/** References that are gone take no field: that they are there is held by the database. */
export function readFields(
  mappings: string | null,
  references: readonly PlacedSecretReference[],
  unsealer: Unsealer,
  workspaceId: string,
): MappedField[] {
  const byId = new Map(references.map((row) => [row.id, row]));
  return readMappings(mappings).flatMap(
    ({ target_field: target, reference_id: id, secret_key: own, value_format: format }) => {
      const row = byId.get(id);
      if (row === undefined) return [];
      return [
        {
          target: pathOf(target),
          secretKey: own || row.secret_key,
          isJson: format === 'json',
          place: placeOf(row, unsealer),
          slug: row.slug,
          isAllowed: row.allow_all_workspaces !== 0 || row.workspaceIds.includes(workspaceId),
        },
      ];
    },
  );
}

function placeOf(row: PlacedSecretReference, unsealer: Unsealer): SecretPlace {
  const { id, manager_type: managerType, secret_path: path } = row;
  const mark = createHash('sha256').update(`${row.auth_config} ${path}`).digest('base64url');
  const opened = openSecrets(unsealer, authPlaces(id), readDocument<AuthConfig>(row.auth_config)!);
  return { id, mark, managerType, path, auth: new Secret(opened, `secret reference ${id}`) };
}

/** `key`, `configurations.custom_headers.X-Key`, or the name of a configuration by itself. */
function pathOf(target: string): string[] {
  const [first = '', ...rest] = target.split('.');
  const path = first === 'configurations' && rest.length > 0 ? rest : [first, ...rest];
  // Names of headers may have dots in them.
  return path.length > 2 ? [path[0]!, path.slice(1).join('.')] : path;
}

/**
 * The account with values in its fields, in their order.
 *
 * @throws SecretUnreadable for a value that does not fit its field
 */
export function filled(
  { key, configurations }: OpenedAccount,
  fields: readonly MappedField[],
  values: readonly KeptSecret[],
): OpenedAccount {
  let credential = key;
  const copy: Record<string, unknown> = { ...configurations };
  for (const [at, { target, secretKey, isJson }] of fields.entries()) {
    const text = textOf(values[at]!, secretKey);
    const [name = '', inner] = target;
    if (name === 'key' && inner === undefined) credential = headerText(text);
    else if (inner === undefined) copy[name] = isJson ? parsed(text) : text;
    else {
      const holder = copy[name] as Record<string, unknown> | undefined;
      copy[name] = { ...holder, [inner]: name === 'custom_headers' ? headerText(text) : text };
    }
  }
  return { key: credential, configurations: copy as IntegrationConfigurations };
}

function headerText(text: string): string {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) return text;
  throw new SecretUnreadable('the value cannot be sent as a header', false);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SecretUnreadable('the value is not JSON', false);
  }
}
