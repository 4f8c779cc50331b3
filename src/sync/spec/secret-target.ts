/** Knows the places outside of the server where a value of a manifest comes from or goes to. */

/** A key of a Secret or a ConfigMap. */
export interface KubernetesPlace {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

/** `secretOutput`: where the value of a new key goes. */
export type SecretTarget =
  /** Relative to the secrets folder; `mode` are its permissions. */
  | { readonly sink: 'file'; readonly path: string; readonly mode: number }
  | ({ readonly sink: 'kubernetesSecret' } & KubernetesPlace);

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
  | ({ readonly from: 'sops' } & SopsPlace);

/** Equal for what leads to one place: `file:support/bot.key`, `kubernetesSecret:prod/bot/api-key`. */
export function targetText(target: SecretTarget): string {
  if (target.sink === 'file') return `file:${target.path}`;
  return `${target.sink}:${kubernetesText(target)}`;
}

/** As the place of the value stands in plans: `env:GW_VAR_TOKEN`, `kubernetesSecret:prod/crm/token`. */
export function originText(origin: ValueOrigin): string {
  if (origin.from === 'env') return `env:${origin.name}`;
  if (origin.from === 'file') return `file:${origin.path}`;
  if (origin.from === 'sops') return sopsText(origin.file, origin.key);
  return `${origin.from}:${kubernetesText(origin)}`;
}

/** @param file its path in the source */
export function sopsText(file: string, key: string): string {
  return `sops:${file}#${key}`;
}

/** As `valueFrom` writes the origin of that text; null for what is the text of none. */
export function originForm(text: string): Record<string, string | Record<string, string>> | null {
  const [, from, rest] = /^(env|file|kubernetesSecret|kubernetesConfigMap):(.+)$/s.exec(text) ?? [];
  if (from === undefined || rest === undefined) return null;
  if (from === 'env' || from === 'file') return { [from]: rest };
  const [namespace = '', name = '', key = ''] = rest.split('/');
  return { [from]: { namespace, name, key } };
}

function kubernetesText({ namespace, name, key }: KubernetesPlace): string {
  return `${namespace}/${name}/${key}`;
}
