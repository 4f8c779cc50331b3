/** Knows the variables that say which Vault is used, what of it is granted, and how to sign in. */
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
    'Paths there that manifests may name, each with all below it.',
  ),
  GATEWRIGHT_VAULT_NAMESPACE: optional(
    'Sync',
    forms.line('a namespace', 'teams/support', 512),
    'Namespace of that Vault; its root when unset.',
  ),
  GATEWRIGHT_VAULT_CA_FILE: optional(
    'Sync',
    { ...forms.path, example: '/etc/ssl/company.pem' },
    'Certificates to trust for that Vault, instead of those of the system.',
  ),
  GATEWRIGHT_VAULT_TOKEN_FILE: optional(
    'Sync',
    { ...forms.path, example: '/run/secrets/vault-token' },
    'Token for that Vault; read again when it changes, renewed while it is used.',
  ),
  GATEWRIGHT_VAULT_AUTH_MOUNT: optional(
    'Sync',
    forms.pattern(/^[A-Za-z0-9][\w.-]*$/, 'the name of a mount', 'kubernetes'),
    'Where the sign-in is mounted; when unset kubernetes or approle.',
  ),
  GATEWRIGHT_VAULT_KUBERNETES_ROLE: optional(
    'Sync',
    forms.line('the name of a role', 'gatewright', 256),
    'Role to sign in for with the account of the pod, instead of a token.',
  ),
  GATEWRIGHT_VAULT_KUBERNETES_TOKEN_FILE: optional(
    'Sync',
    { ...forms.path, example: '/var/run/secrets/tokens/vault' },
    'Token of that account; when unset the one that every pod has.',
  ),
  GATEWRIGHT_VAULT_ROLE_ID: optional(
    'Sync',
    forms.line('the id of a role', '59d6d1ca-47bb-4e7e-a40b-8be3bc5a0ba8', 256),
    'AppRole to sign in for, with GATEWRIGHT_VAULT_SECRET_ID_FILE, instead of a token.',
  ),
  GATEWRIGHT_VAULT_SECRET_ID_FILE: optional(
    'Sync',
    { ...forms.path, example: '/run/secrets/vault-secret-id' },
    'Secret id of that AppRole; read at each sign-in.',
  ),
};
