/** Groups and validates the settings of a Vault: address, granted paths and one login method. */
import type { SettingName, SettingValues } from '../variables/variables.ts';

/** Address, login and paths of a Vault; file paths as written in the settings. */
export interface VaultSettings {
  readonly address: URL;
  readonly paths: readonly { readonly mount: string; readonly path: string }[];
  readonly namespace: string | null;
  readonly caFile: string | null;
  readonly login:
    | { readonly method: 'token'; readonly tokenFile: string }
    | {
        readonly method: 'kubernetes';
        readonly mount: string;
        readonly role: string;
        readonly tokenFile: string;
      }
    | {
        readonly method: 'appRole';
        readonly mount: string;
        readonly roleId: string;
        readonly secretIdFile: string;
      };
}

/** Null when unset or incomplete. */
export function vaultSettings(values: SettingValues): VaultSettings | null {
  const { GATEWRIGHT_VAULT_ADDRESS: address, GATEWRIGHT_VAULT_PATHS: paths } = values;
  const login = loginOf(values);
  if (address === undefined || paths === undefined || login === null) return null;
  return {
    address,
    paths,
    login,
    namespace: values.GATEWRIGHT_VAULT_NAMESPACE ?? null,
    caFile: values.GATEWRIGHT_VAULT_CA_FILE ?? null,
  };
}

const accountToken = '/var/run/secrets/kubernetes.io/serviceaccount/token';

function loginOf(values: SettingValues): VaultSettings['login'] | null {
  const { GATEWRIGHT_VAULT_TOKEN_FILE: tokenFile, GATEWRIGHT_VAULT_AUTH_MOUNT: mount } = values;
  if (tokenFile !== undefined) return { method: 'token', tokenFile };
  const { GATEWRIGHT_VAULT_KUBERNETES_ROLE: role, GATEWRIGHT_VAULT_ROLE_ID: roleId } = values;
  if (role !== undefined) {
    const account = values.GATEWRIGHT_VAULT_KUBERNETES_TOKEN_FILE ?? accountToken;
    return { method: 'kubernetes', mount: mount ?? 'kubernetes', role, tokenFile: account };
  }
  const { GATEWRIGHT_VAULT_SECRET_ID_FILE: secretIdFile } = values;
  if (roleId === undefined || secretIdFile === undefined) return null;
  return { method: 'appRole', mount: mount ?? 'approle', roleId, secretIdFile };
}

const logins: readonly SettingName[] = [
  'GATEWRIGHT_VAULT_TOKEN_FILE',
  'GATEWRIGHT_VAULT_KUBERNETES_ROLE',
  'GATEWRIGHT_VAULT_ROLE_ID',
];
const others: readonly SettingName[] = [
  'GATEWRIGHT_VAULT_PATHS',
  'GATEWRIGHT_VAULT_NAMESPACE',
  'GATEWRIGHT_VAULT_CA_FILE',
  'GATEWRIGHT_VAULT_SECRET_ID_FILE',
  'GATEWRIGHT_VAULT_AUTH_MOUNT',
  'GATEWRIGHT_VAULT_KUBERNETES_TOKEN_FILE',
];

/** @param wrong settings with faults that are already reported; unset in `values` */
export function vaultFaults(values: SettingValues, wrong: ReadonlySet<SettingName>): string[] {
  if ([...logins, ...others, 'GATEWRIGHT_VAULT_ADDRESS' as const].some((name) => wrong.has(name))) {
    return [];
  }
  const isSet = (name: SettingName): boolean => values[name] !== undefined;
  const given = logins.filter(isSet);
  if (!isSet('GATEWRIGHT_VAULT_ADDRESS')) {
    return [...logins, ...others]
      .filter(isSet)
      .map((name) => `${name} is set, but no Vault is: set GATEWRIGHT_VAULT_ADDRESS`);
  }
  const faults: string[] = [];
  if (!isSet('GATEWRIGHT_VAULT_PATHS')) {
    faults.push(
      'GATEWRIGHT_VAULT_ADDRESS is set, but no path is granted: set GATEWRIGHT_VAULT_PATHS',
    );
  }
  if (given.length === 0) {
    faults.push(
      `GATEWRIGHT_VAULT_ADDRESS is set, but no way to sign in: set ${logins.join(' or ')}`,
    );
  } else if (given.length > 1) {
    faults.push(`${given.join(' and ')} are alternative login methods: set only one`);
  }
  if (isSet('GATEWRIGHT_VAULT_ROLE_ID') !== isSet('GATEWRIGHT_VAULT_SECRET_ID_FILE')) {
    faults.push(
      'GATEWRIGHT_VAULT_ROLE_ID and GATEWRIGHT_VAULT_SECRET_ID_FILE go together: set both',
    );
  }
  return faults;
}
