/** Defines the external places that a manifest's values come from or are delivered to. */

/** A key of a Secret or a ConfigMap. */
export interface KubernetesPlace {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

/** A key of a secret in a key-value engine of Vault. */
export interface VaultPlace {
  readonly mount: string;
  /** Without leading or trailing slash. */
  readonly path: string;
  readonly key: string;
}

/** `secretOutput`: where the value of a new key is delivered. */
export type SecretTarget =
  /** Path relative to the secrets folder; `mode` is the file mode. */
  | { readonly sink: 'file'; readonly path: string; readonly mode: number }
  | ({ readonly sink: 'kubernetesSecret' } & KubernetesPlace)
  | ({ readonly sink: 'vault' } & VaultPlace);

/** A value in an encrypted file of the source, by its path relative to the file that names it. */
export interface SopsPlace {
  readonly file: string;
  /** Path of the value: `crm.token`, `["a.b"]`. */
  readonly key: string;
}

/** `valueFrom`: where a write-only value is read from. */
export type ValueOrigin =
  | { readonly from: 'env'; readonly name: string }
  /** In the secrets folder. */
  | { readonly from: 'file'; readonly path: string }
  | ({ readonly from: 'kubernetesSecret' | 'kubernetesConfigMap' } & KubernetesPlace)
  | ({ readonly from: 'vault' } & VaultPlace)
  | ({ readonly from: 'sops' } & SopsPlace);

/**
 * Formats a target; equal texts mean the same place: `file:support/bot.key`,
 * `kubernetesSecret:prod/bot/api-key`.
 */
export function targetText(target: SecretTarget): string {
  if (target.sink === 'file') return `file:${target.path}`;
  if (target.sink === 'vault') return vaultText(target);
  return `${target.sink}:${kubernetesText(target)}`;
}

/**
 * Formats the origin of a value as plans show it: `env:GW_VAR_TOKEN`,
 * `kubernetesSecret:prod/crm/token`.
 */
export function originText(origin: ValueOrigin): string {
  if (origin.from === 'env') return `env:${origin.name}`;
  if (origin.from === 'file') return `file:${origin.path}`;
  if (origin.from === 'vault') return vaultText(origin);
  if (origin.from === 'sops') return sopsText(origin.file, origin.key);
  return `${origin.from}:${kubernetesText(origin)}`;
}

/** @param file path in the source */
export function sopsText(file: string, key: string): string {
  return `sops:${file}#${key}`;
}

const forms = /^(env|file|kubernetesSecret|kubernetesConfigMap|vault):(.+)$/s;

/** Converts the text of an origin to its `valueFrom` form; null for other texts. */
export function originForm(text: string): Record<string, string | Record<string, string>> | null {
  const [, from, rest] = forms.exec(text) ?? [];
  if (from === undefined || rest === undefined) return null;
  if (from === 'env' || from === 'file') return { [from]: rest };
  if (from === 'vault') return { vault: { ...vaultPlaceOf(text) } };
  const [namespace = '', name = '', key = ''] = rest.split('/');
  return { [from]: { namespace, name, key } };
}

/** Formats `vault:secret/support/bot#api-key`. */
export function vaultText({ mount, path, key }: VaultPlace): string {
  return `vault:${mount}/${path}#${key}`;
}

/** Parses the text of {@link vaultText}. */
export function vaultPlaceOf(text: string): VaultPlace {
  const [, mount = '', path = '', key = ''] = /^vault:([^/]+)\/(.+)#(.+)$/s.exec(text) ?? [];
  return { mount, path, key };
}

function kubernetesText({ namespace, name, key }: KubernetesPlace): string {
  return `${namespace}/${name}/${key}`;
}
