/** Knows the places outside of the server where a value of a manifest comes from or goes to. */

/** A key of a Secret or a ConfigMap. */
export interface KubernetesPlace {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

/** A key of a secret in a key-value engine of Vault. */
export interface VaultPlace {
  readonly mount: string;
  /** Without a slash at either end. */
  readonly path: string;
  readonly key: string;
}

/** `secretOutput`: where the value of a new key goes. */
export type SecretTarget =
  /** Relative to the secrets folder; `mode` are its permissions. */
  | { readonly sink: 'file'; readonly path: string; readonly mode: number }
  | ({ readonly sink: 'kubernetesSecret' } & KubernetesPlace)
  | ({ readonly sink: 'vault' } & VaultPlace);

/** A value of an encrypted file of the source, by its path from the file that names it. */
export interface SopsPlace {
  readonly file: string;
  /** Keys that lead to it: `crm.token`, `["a.b"]`. */
  readonly key: string;
}

/** `valueFrom`: where a write-only value is read from when it is needed. */
export type ValueOrigin =
  | { readonly from: 'env'; readonly name: string }
  /** In the secrets folder. */
  | { readonly from: 'file'; readonly path: string }
  | ({ readonly from: 'kubernetesSecret' | 'kubernetesConfigMap' } & KubernetesPlace)
  | ({ readonly from: 'vault' } & VaultPlace)
  | ({ readonly from: 'sops' } & SopsPlace);

/** Equal for what leads to one place: `file:support/bot.key`, `kubernetesSecret:prod/bot/api-key`. */
export function targetText(target: SecretTarget): string {
  if (target.sink === 'file') return `file:${target.path}`;
  if (target.sink === 'vault') return vaultText(target);
  return `${target.sink}:${kubernetesText(target)}`;
}

/** As the place of the value stands in plans: `env:GW_VAR_TOKEN`, `kubernetesSecret:prod/crm/token`. */
export function originText(origin: ValueOrigin): string {
  if (origin.from === 'env') return `env:${origin.name}`;
  if (origin.from === 'file') return `file:${origin.path}`;
  if (origin.from === 'vault') return vaultText(origin);
  if (origin.from === 'sops') return sopsText(origin.file, origin.key);
  return `${origin.from}:${kubernetesText(origin)}`;
}

/** @param file its path in the source */
export function sopsText(file: string, key: string): string {
  return `sops:${file}#${key}`;
}

const forms = /^(env|file|kubernetesSecret|kubernetesConfigMap|vault):(.+)$/s;

/** As `valueFrom` writes the origin of that text; null for what is the text of none. */
export function originForm(text: string): Record<string, string | Record<string, string>> | null {
  const [, from, rest] = forms.exec(text) ?? [];
  if (from === undefined || rest === undefined) return null;
  if (from === 'env' || from === 'file') return { [from]: rest };
  if (from === 'vault') return { vault: { ...vaultPlaceOf(text) } };
  const [namespace = '', name = '', key = ''] = rest.split('/');
  return { [from]: { namespace, name, key } };
}

/** `vault:secret/support/bot#api-key` */
export function vaultText({ mount, path, key }: VaultPlace): string {
  return `vault:${mount}/${path}#${key}`;
}

/** Of the text that {@link vaultText} makes. */
export function vaultPlaceOf(text: string): VaultPlace {
  const [, mount = '', path = '', key = ''] = /^vault:([^/]+)\/(.+)#(.+)$/s.exec(text) ?? [];
  return { mount, path, key };
}

function kubernetesText({ namespace, name, key }: KubernetesPlace): string {
  return `${namespace}/${name}/${key}`;
}
