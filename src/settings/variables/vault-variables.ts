/** Declares the environment variables of the Vault: address, granted paths and authentication. */
import * as forms from './forms.ts';
import { optional } from './variable.ts';

export const vaultVariables = {
  GATEWRIGHT_VAULT_ADDRESS: optional(
    'Sync',
    forms.webAddress,
    'Vault or OpenBao whose key-value secrets (version 2) manifests may read and write.',
  ),
  GATEWRIGHT_VAULT_PATHS: optional(
    'Sync',
    forms.vaultPaths,
    'Vault paths that manifests may use, including everything below them.',
  ),
  GATEWRIGHT_VAULT_NAMESPACE: optional(
    'Sync',
    forms.line('a namespace', 'teams/support', 512),
    'Vault namespace. When unset: the root namespace.',
  ),
  GATEWRIGHT_VAULT_CA_FILE: optional(
    'Sync',
    { ...forms.path, example: '/etc/ssl/company.pem' },
    'Certificates to trust for the Vault, instead of those of the system.',
  ),
  GATEWRIGHT_VAULT_TOKEN_FILE: optional(
    'Sync',
    { ...forms.path, example: '/run/secrets/vault-token' },
    'File with the Vault token; read again when it changes, renewed while in use.',
  ),
  GATEWRIGHT_VAULT_AUTH_MOUNT: optional(
    'Sync',
    forms.pattern(/^[A-Za-z0-9][\w.-]*$/, 'the name of a mount', 'kubernetes'),
    'Mount of the auth method. When unset: kubernetes or approle.',
  ),
  GATEWRIGHT_VAULT_KUBERNETES_ROLE: optional(
    'Sync',
    forms.line('the name of a role', 'gatewright', 256),
    'Role for authentication with the service account of the pod, instead of a token.',
  ),
  GATEWRIGHT_VAULT_KUBERNETES_TOKEN_FILE: optional(
    'Sync',
    { ...forms.path, example: '/var/run/secrets/tokens/vault' },
    'File with the token of that service account. When unset: the default token of the pod.',
  ),
  GATEWRIGHT_VAULT_ROLE_ID: optional(
    'Sync',
    forms.line('the id of a role', '59d6d1ca-47bb-4e7e-a40b-8be3bc5a0ba8', 256),
    'AppRole for authentication with GATEWRIGHT_VAULT_SECRET_ID_FILE, instead of a token.',
  ),
  GATEWRIGHT_VAULT_SECRET_ID_FILE: optional(
    'Sync',
    { ...forms.path, example: '/run/secrets/vault-secret-id' },
    'File with the secret id of the AppRole; read at each login.',
  ),
};
