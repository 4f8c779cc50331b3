/** Defines the supported secret managers, the ways to authenticate with each and the fields these require. */
import { z } from 'zod';
import { didYouMean } from '../../suggest.ts';
import { anyHost, outboundUrlFault } from '../services/outbound-url.ts';
import { described } from '../wire/described.ts';
import { type Fault, faultAt } from '../wire/fault.ts';
import { authSecrets, maskedPrefix } from './secret-fields.ts';

export const ManagerType = z.enum(['aws_sm', 'azure_kv', 'hashicorp_vault']);
export type ManagerType = z.infer<typeof ManagerType>;

const field = (description: string, examples?: readonly string[]) =>
  described(
    z.string().min(1).max(65_536).nullable().optional(),
    description,
    examples === undefined ? {} : { examples },
  );

const fields = {
  aws_auth_type: field('AWS authentication method.', ['accessKey', 'assumedRole', 'serviceRole']),
  aws_region: field('Region of the secret.', ['eu-central-1']),
  aws_access_key_id: field('Access key id; a secret.'),
  aws_secret_access_key: field('Secret access key; a secret.'),
  aws_role_arn: field('Role to assume.', ['arn:aws:iam::123456789012:role/gateway']),
  aws_external_id: field('External id that the role requires; a secret.'),
  aws_endpoint_url: field('URL of Secrets Manager, instead of the one for the region.'),
  aws_sts_endpoint_url: field('URL of STS, instead of the one for the region.'),
  azure_auth_mode: field('Azure authentication method.', ['entra', 'managed', 'default']),
  azure_vault_url: field('URL of the key vault.', ['https://example.vault.azure.net']),
  azure_entra_tenant_id: field('Tenant of the application.'),
  azure_entra_client_id: field('Client id of the application.'),
  azure_entra_client_secret: field('Client secret of the application; a secret.'),
  azure_managed_client_id: field('Client id of a user-assigned managed identity.'),
  azure_authority_url: field('URL of Entra ID in a national cloud.'),
  vault_auth_type: field('Vault authentication method.', ['token', 'approle', 'kubernetes']),
  vault_addr: field('URL of Vault or OpenBao.', ['https://vault.example.com:8200']),
  vault_namespace: field('Namespace in Vault; defaults to the root namespace.'),
  vault_token: field('Token; a secret.'),
  vault_role_id: field('Role id of the AppRole.'),
  vault_secret_id: field('Secret id of the AppRole; a secret.'),
  vault_role: field('Vault role for the service account of the pod.'),
  vault_auth_mount: field('Mount path of the auth method; defaults to its name.', ['approle']),
} as const;

/** Fields by name; {@link authFaults} checks which of them belong together. */
export const AuthConfig = z.looseObject(fields);
export type AuthConfig = z.infer<typeof AuthConfig>;

type FieldName = keyof typeof fields;

/** Fields that contain a URL which the gateway calls. */
const addresses: readonly FieldName[] = [
  'aws_endpoint_url',
  'aws_sts_endpoint_url',
  'azure_vault_url',
  'azure_authority_url',
  'vault_addr',
];

interface AuthKind {
  readonly required: readonly FieldName[];
  readonly optional: readonly FieldName[];
}

interface Manager {
  /** The field that selects the authentication method. */
  readonly by: FieldName;
  readonly kinds: Readonly<Record<string, AuthKind>>;
}

const managers: Readonly<Record<ManagerType, Manager>> = {
  aws_sm: {
    by: 'aws_auth_type',
    kinds: {
      accessKey: {
        required: ['aws_access_key_id', 'aws_secret_access_key', 'aws_region'],
        optional: ['aws_endpoint_url'],
      },
      assumedRole: {
        required: ['aws_role_arn', 'aws_region'],
        optional: ['aws_external_id', 'aws_endpoint_url', 'aws_sts_endpoint_url'],
      },
      serviceRole: {
        required: [],
        optional: ['aws_region', 'aws_endpoint_url', 'aws_sts_endpoint_url'],
      },
    },
  },
  azure_kv: {
    by: 'azure_auth_mode',
    kinds: {
      entra: {
        required: [
          'azure_vault_url',
          'azure_entra_tenant_id',
          'azure_entra_client_id',
          'azure_entra_client_secret',
        ],
        optional: ['azure_authority_url'],
      },
      managed: { required: ['azure_vault_url'], optional: ['azure_managed_client_id'] },
      default: { required: ['azure_vault_url'], optional: [] },
    },
  },
  hashicorp_vault: {
    by: 'vault_auth_type',
    kinds: {
      token: { required: ['vault_addr', 'vault_token'], optional: ['vault_namespace'] },
      approle: {
        required: ['vault_addr', 'vault_role_id', 'vault_secret_id'],
        optional: ['vault_namespace', 'vault_auth_mount'],
      },
      kubernetes: {
        required: ['vault_addr', 'vault_role'],
        optional: ['vault_namespace', 'vault_auth_mount'],
      },
    },
  },
};

/** Returns the faults of an auth config; paths start at it. Null counts as absent. */
export function authFaults(manager: ManagerType, config: AuthConfig): Fault[] {
  const { by, kinds } = managers[manager];
  const chosen = config[by];
  const kind = isSet(chosen) && Object.hasOwn(kinds, chosen) ? kinds[chosen]! : undefined;
  if (kind === undefined) {
    return [{ path: [by], message: `must be one of ${Object.keys(kinds).join(', ')}` }];
  }
  const own = new Set<string>([by, ...kind.required, ...kind.optional]);
  const missing = kind.required.filter((name) => !isSet(config[name]));
  const foreign = Object.keys(config).filter((name) => isSet(config[name]) && !own.has(name));
  return [
    ...missing.map((name) => ({ path: [name], message: `is required for ${chosen}` })),
    ...foreign.map((name) => ({ path: [name], message: foreignFault(name, String(chosen), own) })),
    ...addresses.flatMap((name) => faultAt(name, addressFault(config[name]))),
  ];
}

function foreignFault(name: string, chosen: string, own: Iterable<string>): string {
  if (Object.hasOwn(fields, name)) return `is not allowed for ${chosen}`;
  const hint = didYouMean(name, own);
  return hint === undefined ? 'is not known' : `is not known; ${hint}`;
}

function addressFault(address: unknown): string | null {
  if (!isSet(address)) return null;
  // Secret managers usually run in private networks; the resolved address is checked on each call.
  const fault = outboundUrlFault(address, anyHost);
  if (fault !== null) return fault;
  return new URL(address).search === '' ? null : 'must not have a query';
}

/**
 * Merges the fields of an update into the stored config: null clears a field, and names of masks are
 * ignored. A change of the authentication method removes the fields of the previous method.
 */
export function mergeAuthConfig(
  manager: ManagerType,
  stored: AuthConfig | null,
  update: AuthConfig,
): AuthConfig {
  const { by, kinds } = managers[manager];
  const chosen = update[by] ?? stored?.[by];
  const hasChanged = stored !== null && stored[by] !== chosen;
  const kind = Object.hasOwn(kinds, String(chosen)) ? kinds[String(chosen)] : undefined;
  const own = new Set<string>([by, ...(kind?.required ?? []), ...(kind?.optional ?? [])]);
  const retained = Object.entries(stored ?? {}).filter(([name]) => !hasChanged || own.has(name));
  const updated = Object.entries(update).filter(([name]) => !name.startsWith(maskedPrefix));
  const merged = Object.entries({
    ...Object.fromEntries(retained),
    ...Object.fromEntries(updated),
  });
  return Object.fromEntries(merged.filter(([, value]) => value !== null));
}

/**
 * Returns a fault for each stored secret that an update would send to another origin than the one it was
 * entered for. Call it only for configs that {@link authFaults} accepts.
 */
export function retainedAuthSecretFaults(
  stored: AuthConfig,
  merged: AuthConfig,
  isRetained: (name: string) => boolean,
): Fault[] {
  const moved = addresses.find((name) => originOf(stored[name]) !== originOf(merged[name]));
  if (moved === undefined) return [];
  return authSecrets
    .filter((name) => isSet(merged[name]) && isRetained(name))
    .map((name) => ({
      path: [name],
      message: `must be sent again with its value, because ${moved} changes to another origin`,
    }));
}

function originOf(address: unknown): string | null {
  return isSet(address) ? new URL(address).origin : null;
}

function isSet(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
