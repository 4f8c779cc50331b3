/** Knows the secret managers that values may be kept in, how each is signed in to, and what that takes. */
import { z } from 'zod';
import { didYouMean } from '../../suggest.ts';
import { described } from '../wire/described.ts';
import { type Fault, faultAt } from '../wire/fault.ts';
import { anyHost, outboundUrlFault } from '../services/outbound-url.ts';
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
  aws_auth_type: field('How AWS is signed in to.', ['accessKey', 'assumedRole', 'serviceRole']),
  aws_region: field('Region of the secret.', ['eu-central-1']),
  aws_access_key_id: field('Id of an access key; a secret.'),
  aws_secret_access_key: field('The access key itself; a secret.'),
  aws_role_arn: field('Role that is assumed.', ['arn:aws:iam::123456789012:role/gateway']),
  aws_external_id: field('What the role asks of whoever assumes it; a secret.'),
  aws_endpoint_url: field('Address of Secrets Manager, in place of that of the region.'),
  aws_sts_endpoint_url: field('Address that roles are asked for, in place of that of the region.'),
  azure_auth_mode: field('How Azure is signed in to.', ['entra', 'managed', 'default']),
  azure_vault_url: field('Address of the key vault.', ['https://example.vault.azure.net']),
  azure_entra_tenant_id: field('Tenant of the application.'),
  azure_entra_client_id: field('Client id of the application.'),
  azure_entra_client_secret: field('Client secret of the application; a secret.'),
  azure_managed_client_id: field('Client id of a managed identity that a user has assigned.'),
  azure_authority_url: field('Address of Entra ID, of clouds with one of their own.'),
  vault_auth_type: field('How Vault is signed in to.', ['token', 'approle', 'kubernetes']),
  vault_addr: field('Address of Vault or OpenBao.', ['https://vault.example.com:8200']),
  vault_namespace: field('Namespace in Vault; the root when left out.'),
  vault_token: field('Token; a secret.'),
  vault_role_id: field('Role of the AppRole.'),
  vault_secret_id: field('Secret id of the AppRole; a secret.'),
  vault_role: field('Role of the account of the pod.'),
  vault_auth_mount: field('Where the method is mounted; its name when left out.', ['approle']),
} as const;

/** By name of the field; which of them belong together: {@link authFaults}. */
export const AuthConfig = z.looseObject(fields);
export type AuthConfig = z.infer<typeof AuthConfig>;

type FieldName = keyof typeof fields;

/** Those that are called, by what they are shown. */
const addresses: readonly FieldName[] = [
  ...(['aws_endpoint_url', 'aws_sts_endpoint_url', 'azure_vault_url'] as const),
  ...(['azure_authority_url', 'vault_addr'] as const),
];

interface AuthKind {
  readonly required: readonly FieldName[];
  readonly optional: readonly FieldName[];
}

interface Manager {
  /** The field that says which kind it is. */
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
          ...(['azure_vault_url', 'azure_entra_tenant_id'] as const),
          ...(['azure_entra_client_id', 'azure_entra_client_secret'] as const),
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

/** What is wrong with an auth config as a whole; paths start at it. Null is as good as left out. */
export function authFaults(manager: ManagerType, config: AuthConfig): Fault[] {
  const { by, kinds } = managers[manager];
  const chosen = config[by];
  const kind = isSet(chosen) && Object.hasOwn(kinds, chosen) ? kinds[chosen]! : undefined;
  if (kind === undefined) {
    return [{ path: [by], message: `must be one of ${Object.keys(kinds).join(', ')}` }];
  }
  const own = new Set<string>([by, ...kind.required, ...kind.optional]);
  const missing = kind.required.filter((name) => !isSet(config[name]));
  const strange = Object.keys(config).filter((name) => isSet(config[name]) && !own.has(name));
  return [
    ...missing.map((name) => ({ path: [name], message: `is required for ${chosen}` })),
    ...strange.map((name) => ({ path: [name], message: strangeness(name, String(chosen), own) })),
    ...addresses.flatMap((name) => faultAt(name, addressFault(config[name]))),
  ];
}

function strangeness(name: string, chosen: string, own: Iterable<string>): string {
  if (Object.hasOwn(fields, name)) return `is not for ${chosen}`;
  const hint = didYouMean(name, own);
  return hint === undefined ? 'is not known' : `is not known; ${hint}`;
}

function addressFault(address: unknown): string | null {
  if (!isSet(address)) return null;
  // Managers stand in private networks as a rule: where a name leads is judged when it is called.
  const fault = outboundUrlFault(address, anyHost);
  if (fault !== null) return fault;
  return new URL(address).search === '' ? null : 'must not have a query';
}

/**
 * What is sent over what is stored, field by field: null clears, names of masks say nothing, and with
 * another kind of sign-in goes what belonged to the one before.
 */
export function mergedAuth(
  manager: ManagerType,
  stored: AuthConfig | null,
  sent: AuthConfig,
): AuthConfig {
  const { by, kinds } = managers[manager];
  const chosen = sent[by] ?? stored?.[by];
  const hasChanged = stored !== null && stored[by] !== chosen;
  const kind = Object.hasOwn(kinds, String(chosen)) ? kinds[String(chosen)] : undefined;
  const own = new Set<string>([by, ...(kind?.required ?? []), ...(kind?.optional ?? [])]);
  const kept = Object.entries(stored ?? {}).filter(([name]) => !hasChanged || own.has(name));
  const given = Object.entries(sent).filter(([name]) => !name.startsWith(maskedPrefix));
  const merged = Object.entries({ ...Object.fromEntries(kept), ...Object.fromEntries(given) });
  return Object.fromEntries(merged.filter(([, value]) => value !== null));
}

/**
 * The secrets that an update would keep although they would go to another origin than they were given
 * for; of configs without {@link authFaults}.
 */
export function keptSecretFaults(
  stored: AuthConfig,
  merged: AuthConfig,
  isKept: (name: string) => boolean,
): Fault[] {
  const moved = addresses.find((name) => originOf(stored[name]) !== originOf(merged[name]));
  if (moved === undefined) return [];
  return authSecrets
    .filter((name) => isSet(merged[name]) && isKept(name))
    .map((name) => ({
      path: [name],
      message: `must be sent again with its value, because ${moved} leads to another origin`,
    }));
}

function originOf(address: unknown): string | null {
  return isSet(address) ? new URL(address).origin : null;
}

function isSet(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
