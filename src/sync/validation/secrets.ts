/** Reads write-only values from their origins. */
import { Secret } from '../../secret.ts';
import { didYouMean } from '../../suggest.ts';
import { EncryptedFiles } from '../manifest/encrypted-files.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { isRemoteForm, placeFormFault, placeForms } from '../manifest/place-forms.ts';
import type { VariableLookup } from '../overlay/substitute.ts';
import { isCredentialName, looksLikeCredential } from '../resources/credential-forms.ts';
import {
  originText,
  type SecretTarget,
  type SopsPlace,
  type ValueOrigin,
} from '../resources/secret-target.ts';
import type { AgeIdentities } from '../sops/age-identities.ts';
import { looksEncrypted } from '../sops/encrypted-value.ts';
import { SealedValue } from '../sops/sealed-value.ts';
import type { SourceFile } from '../source/source-files.ts';
import type { Segments } from '../yaml/yaml-position.ts';

/** Code for a value that cannot be read now, which is not a fault of the source. */
export const unreachableCode = 'secret-unreachable';

/** The value of an origin, undefined when there is none, or why it cannot be read. */
export type QueriedValue =
  | Secret
  | undefined
  | { readonly code: string; readonly message: string; readonly fix: string };

/** An origin that must be queried: any except variables and values in the source itself. */
export type QueriedOrigin = Exclude<ValueOrigin, { readonly from: 'env' | 'sops' }>;

/** Why the settings do not permit a destination for the value of a key. */
export interface TargetRefusal {
  /** The field of the destination that they do not permit. */
  readonly at: string;
  readonly message: string;
  readonly fix: string;
}

export interface SecretSources {
  readonly environment: VariableLookup;
  readonly readValue: (origin: QueriedOrigin) => Promise<QueriedValue>;
  /**
   * Returns null for a permitted destination; absent for checks without the settings of the run.
   */
  readonly refuseTarget?: ((target: SecretTarget) => TargetRefusal | null) | undefined;
  /** Identities that decrypt sops files; absent when there are none. */
  readonly ageIdentities?: AgeIdentities | undefined;
  /** False for checks without secrets: a missing value is then not a fault. */
  readonly requireSecrets: boolean;
}

/** The values of a source, each queried once, by the text of its origin. */
export class ReadValues {
  readonly environment: VariableLookup;
  readonly requireSecrets: boolean;
  readonly encryptedFiles: EncryptedFiles;
  readonly refuseTarget: (target: SecretTarget) => TargetRefusal | null;
  readonly #readValue: SecretSources['readValue'];
  readonly #found = new Map<string, QueriedValue>();

  /** @param files of the source, which may contain values encrypted by sops */
  constructor(
    { environment, readValue, refuseTarget, ageIdentities, requireSecrets }: SecretSources,
    files: readonly SourceFile[],
  ) {
    this.environment = environment;
    this.requireSecrets = requireSecrets;
    this.encryptedFiles = new EncryptedFiles(files, ageIdentities, requireSecrets);
    this.refuseTarget = refuseTarget ?? (() => null);
    this.#readValue = readValue;
  }

  /** Queries the values that a spec names, before it is converted. */
  async query({ spec, place }: Pick<Manifest, 'spec' | 'place'>): Promise<void> {
    const named = originsIn(spec, ['spec']);
    for (const { origin, written } of named) {
      if (origin.from === 'sops') await this.encryptedFiles.open(origin, place.at(written).file);
    }
    if (!this.requireSecrets) return;
    const queried = named.flatMap(({ origin }) =>
      origin.from === 'env' || origin.from === 'sops' ? [] : [origin],
    );
    const unknown = queried.filter((origin) => !this.#found.has(originText(origin)));
    await Promise.all(
      unknown.map(async (origin) => {
        this.#found.set(originText(origin), await this.#readValue(origin));
      }),
    );
  }

  get(origin: QueriedOrigin): QueriedValue {
    return this.#found.get(originText(origin));
  }
}

/** Returns the well-formed origins anywhere in a value. */
function originsIn(
  value: unknown,
  written: Segments,
): { readonly origin: ValueOrigin; readonly written: Segments }[] {
  if (typeof value !== 'object' || value === null || value instanceof SealedValue) return [];
  if (!isValueFrom(value)) {
    return Object.entries(value).flatMap(([key, item]) => originsIn(item, [...written, key]));
  }
  return formFault(value) === undefined ? [{ origin: originOf(value), written }] : [];
}

export type SecretReading =
  | {
      readonly secret: Secret;
      readonly available: boolean;
      /** Optional and not set, so the server's value stays. */
      readonly isUnset?: boolean;
    }
  | { readonly code: string; readonly message: string; readonly fix: string };

const forms = ['env', 'file', ...Object.keys(placeForms)];
const fields = [...forms, 'prefix', 'optional'];

/** Prefix of the origin of a value that is text in the manifest; the text follows. */
export const plainOrigin = 'text:';

/** Completes "FIELD …" for a text encrypted by sops in a file without its metadata. */
export const unkeyed = {
  message: 'is encrypted, but the sops metadata is missing or does not cover it',
  fix: 'encrypt the manifest with sops, and edit it with sops only',
};

/** Returns whether a value has the form `{valueFrom: …}`. */
export function isValueFrom(value: unknown): value is { valueFrom: unknown } {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'valueFrom');
}

/**
 * Reads a write-only field of a manifest: `{valueFrom: …}`, a value encrypted by sops, or text that
 * is not a credential.
 *
 * @param key of the field or header
 * @param fileOf returns the file that contains the field
 * @returns undefined for other values, which the schema rejects
 */
export function readSecretField(
  raw: unknown,
  key: string,
  values: ReadValues,
  fileOf: () => string,
): SecretReading | undefined {
  if (raw instanceof SealedValue) return { secret: raw.secret, available: raw.isOpen };
  if (isValueFrom(raw)) return readValueFrom(raw, values, fileOf);
  if (typeof raw !== 'string') return undefined;
  if (looksEncrypted(raw)) return { code: 'sops-bare', ...unkeyed };
  if (!isCredentialName(key) && !looksLikeCredential(raw)) {
    return { secret: new Secret(raw, `${plainOrigin}${raw}`), available: true };
  }
  const message = 'must not be plain text in the source';
  return { code: 'secret-literal', message, fix: 'write {valueFrom: {env: NAME}}' };
}

function isOptional({ valueFrom }: { valueFrom: unknown }): boolean {
  return (valueFrom as { optional?: unknown }).optional === true;
}

const formsTaken = `write one of env, file, sops, ${Object.keys(placeForms).join(', ')}, such as {env: NAME}`;

/** Reads one of the forms, each with an optional `prefix` such as `Bearer `. */
function readValueFrom(
  holder: { valueFrom: unknown },
  values: ReadValues,
  fileOf: () => string,
): SecretReading {
  const wrong = formFault(holder);
  if (wrong !== undefined) {
    return { code: 'value-from', fix: formsTaken, ...wrong };
  }
  const from = originOf(holder);
  const origin = originText(from);
  const { prefix = '' } = holder.valueFrom as { prefix?: string };
  if (from.from === 'sops')
    return readSops(from, values, fileOf(), { prefix, isOptional: isOptional(holder) });
  const found = from.from === 'env' ? values.environment(from.name) : values.get(from);
  if (typeof found === 'object' && !(found instanceof Secret)) {
    return { code: 'variable-refused', ...found };
  }
  const value = (found instanceof Secret ? found.reveal() : found)?.replace(/\r?\n$/, '');
  if (value !== undefined && value !== '') {
    return { secret: new Secret(`${prefix}${value}`, origin), available: true };
  }
  if (!values.requireSecrets) return { secret: new Secret('', origin), available: false };
  if (isOptional(holder))
    return { secret: new Secret('', origin), available: false, isUnset: true };
  const state = value === undefined ? 'is not available' : 'is empty';
  return { code: 'secret-missing', message: `the secret ${origin} ${state}`, fix: fixFor(from) };
}

/** An invalid encrypted file is a fault even where values are not required. */
function readSops(
  place: SopsPlace,
  { encryptedFiles }: ReadValues,
  fromFile: string,
  { prefix, isOptional }: { readonly prefix: string; readonly isOptional: boolean },
): SecretReading {
  const found = encryptedFiles.read(place, fromFile);
  if (found instanceof SealedValue) {
    const value = found.secret.reveal().replace(/\r?\n$/, '');
    const secret = new Secret(value === '' ? '' : `${prefix}${value}`, found.secret.origin);
    return { secret, available: found.isOpen };
  }
  if (found.isUnset !== true || !isOptional) return found;
  const origin = encryptedFiles.originOf(place, fromFile);
  return { secret: new Secret('', origin), available: false, isUnset: true };
}

function fixFor(origin: Exclude<ValueOrigin, { readonly from: 'sops' }>): string {
  if (origin.from === 'env') return `set ${origin.name}`;
  if (origin.from === 'file') return `put the value into the file ${origin.path}`;
  if (origin.from === 'vault') {
    return `put the value into ${origin.mount}/${origin.path} of Vault, under the key ${origin.key}`;
  }
  const { namespace, name, key } = origin;
  const kind = origin.from === 'kubernetesSecret' ? 'Secret' : 'ConfigMap';
  return `put the value into the ${kind} ${name} of namespace ${namespace}, under the key ${key}`;
}

/** For a value without a form fault. */
function originOf({ valueFrom }: { valueFrom: unknown }): ValueOrigin {
  const from = valueFrom as Record<string, unknown>;
  const form = forms.find((name) => Object.hasOwn(from, name))!;
  if (isRemoteForm(form)) return { from: form, ...(from[form] as object) } as ValueOrigin;
  const text = String(from[form]);
  return form === 'env' ? { from: 'env', name: text } : { from: 'file', path: text };
}

interface WrongForm {
  readonly message: string;
  readonly fix?: string;
}

function formFault(holder: { valueFrom: unknown }): WrongForm | undefined {
  const extra = Object.keys(holder).find((key) => key !== 'valueFrom');
  if (extra !== undefined) return { message: `"${extra}" is not allowed next to valueFrom` };
  const from = holder.valueFrom;
  if (typeof from !== 'object' || from === null || Array.isArray(from)) {
    return { message: 'valueFrom must be a map' };
  }
  const keys = Object.keys(from);
  const unknown = keys.find((key) => !fields.includes(key));
  if (unknown !== undefined) {
    const near = didYouMean(unknown, fields);
    const fix = near === undefined ? {} : { fix: near };
    return { message: `valueFrom has no field "${unknown}"`, ...fix };
  }
  const { optional, ...others } = from as Record<string, unknown>;
  if (optional !== undefined && typeof optional !== 'boolean') {
    return { message: 'valueFrom.optional must be true or false' };
  }
  const [form, ...more] = keys.filter((key) => forms.includes(key));
  if (form === undefined || more.length > 0) {
    return { message: `valueFrom needs one of ${forms.join(', ')}` };
  }
  const texts = Object.entries(others).filter(([key]) => !isRemoteForm(key));
  if (!texts.every(([, value]) => typeof value === 'string')) {
    return { message: 'the fields of valueFrom must be text' };
  }
  if (!isRemoteForm(form)) return placeFault(from as Record<string, string>);
  const wrong = placeFormFault(form, others[form]);
  return wrong === undefined
    ? undefined
    : { message: `valueFrom.${wrong.message}`, fix: wrong.fix };
}

function placeFault({ env = 'A', file = 'a' }: Record<string, string>): WrongForm | undefined {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(env)) {
    return { message: 'valueFrom.env must be the name of a variable' };
  }
  if (!file.startsWith('/') && !file.split('/').includes('..')) return undefined;
  return {
    message: `valueFrom.file is outside of the secrets folder`,
    fix: 'put the value into a file of that folder, and use the path relative to it: crm/token',
  };
}
