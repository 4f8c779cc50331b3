/** Knows where write-only values come from. */
import { Secret } from '../../secret.ts';
import type { Environment } from '../overlay/substitute.ts';
import { isCredentialName, looksLikeCredential } from '../spec/credential-forms.ts';

export interface SecretSources {
  readonly environment: Environment;
  /** Content of a file named by `valueFrom.file`; undefined when it does not exist or is not allowed. */
  readonly readSecretFile: (path: string) => string | undefined;
  /** False for checks without the secrets at hand: a missing source is then no fault. */
  readonly requireSecrets: boolean;
}

export type SecretReading =
  | {
      readonly secret: Secret;
      readonly available: boolean;
      /** Optional and not set: what the server has stays. */
      readonly isKept?: boolean;
    }
  | { readonly code: string; readonly message: string; readonly fix: string };

/** Sources that the manifest format names and this version does not read. */
const futureSources = ['secretKeyRef', 'vault', 'sops'];
const fields = ['env', 'file', 'prefix', 'optional'];

/** Begins the origin of a value that stands in the manifest as text, which follows. */
export const plainOrigin = 'text:';

/** Whether a value has the form `{valueFrom: …}`. */
export function isValueFrom(value: unknown): value is { valueFrom: unknown } {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'valueFrom');
}

/**
 * Reads a write-only field as it stands in a manifest: `{valueFrom: …}`, or text that is no credential.
 *
 * @param key of the field or header
 * @returns undefined for what is neither, which the schema will judge
 */
export function readSecretField(
  raw: unknown,
  key: string,
  sources: SecretSources,
): SecretReading | undefined {
  if (isValueFrom(raw)) return readValueFrom(raw, sources);
  if (typeof raw !== 'string') return undefined;
  if (!isCredentialName(key) && !looksLikeCredential(raw)) {
    return { secret: new Secret(raw, `${plainOrigin}${raw}`), available: true };
  }
  const message = 'must not stand in the source as text';
  return { code: 'secret-literal', message, fix: 'write {valueFrom: {env: NAME}}' };
}

function isOptional({ valueFrom }: { valueFrom: unknown }): boolean {
  return (valueFrom as { optional?: unknown }).optional === true;
}

/** Reads `{env: NAME}` or `{file: PATH}`, each with an optional `prefix` such as `Bearer `. */
function readValueFrom(holder: { valueFrom: unknown }, sources: SecretSources): SecretReading {
  const wrong = formFault(holder);
  if (wrong !== undefined) {
    return { code: 'value-from', fix: 'write {env: NAME} or {file: PATH}', ...wrong };
  }
  const { env, file, prefix = '' } = holder.valueFrom as Record<string, string | undefined>;
  const origin = env === undefined ? `file:${file}` : `env:${env}`;
  const found = env === undefined ? sources.readSecretFile(file ?? '') : sources.environment(env);
  if (typeof found === 'object') return { code: 'variable-refused', ...found };
  const value = found?.replace(/\r?\n$/, '');
  if (value !== undefined && value !== '') {
    return { secret: new Secret(`${prefix}${value}`, origin), available: true };
  }
  if (!sources.requireSecrets) return { secret: new Secret('', origin), available: false };
  if (isOptional(holder)) return { secret: new Secret('', origin), available: false, isKept: true };
  const state = value === undefined ? 'is not available' : 'is empty';
  const fix = env === undefined ? `put the value into the file ${file}` : `set ${env}`;
  return { code: 'secret-missing', message: `the secret ${origin} ${state}`, fix };
}

interface FormFault {
  readonly message: string;
  readonly fix?: string;
}

function formFault(holder: { valueFrom: unknown }): FormFault | undefined {
  const extra = Object.keys(holder).find((key) => key !== 'valueFrom');
  if (extra !== undefined) return { message: `"${extra}" cannot stand beside valueFrom` };
  const from = holder.valueFrom;
  if (typeof from !== 'object' || from === null || Array.isArray(from)) {
    return { message: 'valueFrom must be a map' };
  }
  const keys = Object.keys(from);
  const future = keys.find((key) => futureSources.includes(key));
  if (future !== undefined) {
    return { message: `valueFrom.${future} is not available yet in this version` };
  }
  const unknown = keys.find((key) => !fields.includes(key));
  if (unknown !== undefined) return { message: `valueFrom has no field "${unknown}"` };
  const { optional, ...others } = from as Record<string, unknown>;
  if (optional !== undefined && typeof optional !== 'boolean') {
    return { message: 'valueFrom.optional must be true or false' };
  }
  const texts = Object.values(others).every((value) => typeof value === 'string');
  if (!texts) return { message: 'the fields of valueFrom must be text' };
  if (keys.includes('env') === keys.includes('file')) {
    return { message: 'valueFrom needs either env or file' };
  }
  return placeFault(from as Record<string, string>);
}

function placeFault({ env = 'A', file = 'a' }: Record<string, string>): FormFault | undefined {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(env)) {
    return { message: 'valueFrom.env must be the name of a variable' };
  }
  if (!file.startsWith('/') && !file.split('/').includes('..')) return undefined;
  return {
    message: `valueFrom.file leads out of the secrets folder`,
    fix: 'put the value into a file of that folder, and give the path from there: crm/token',
  };
}
