/** Defines the fields by which a manifest names a place in Kubernetes, Vault or a sops file. */
import { didYouMean } from '../../suggest.ts';
import type { SecretTarget, ValueOrigin } from '../resources/secret-target.ts';
import { isMap } from '../yaml/map-fields.ts';

type RemoteForm = Exclude<(SecretTarget | { sink: ValueOrigin['from'] })['sink'], 'env' | 'file'>;

interface PlaceField {
  readonly meaning: string;
  readonly pattern: RegExp;
  readonly lengthMax: number;
  /** Completes "must be". */
  readonly expected: string;
  readonly example: string;
}

export interface PlaceForm {
  readonly meaning: string;
  /** Whether values can also be delivered there. */
  readonly isWritable: boolean;
  readonly fields: Readonly<Record<string, PlaceField>>;
}

const kubernetesFields = {
  namespace: {
    meaning: 'Namespace, one of GATEWRIGHT_KUBERNETES_NAMESPACES.',
    pattern: /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/,
    lengthMax: 63,
    expected: 'lower-case letters, digits and "-"',
    example: 'support',
  },
  name: {
    meaning: 'Name of the object.',
    pattern: /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/,
    lengthMax: 253,
    expected: 'lower-case letters, digits, "-" and "."',
    example: 'support-bot',
  },
  key: {
    meaning: 'Key in its data.',
    pattern: /^(?!\.\.?$)[A-Za-z0-9._-]+$/,
    lengthMax: 100,
    expected: 'letters, digits, ".", "_" and "-"',
    example: 'api-key',
  },
} as const;

const vaultFields = {
  mount: {
    meaning: 'Where the key-value engine (version 2) is mounted.',
    pattern: /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
    lengthMax: 100,
    expected: 'letters, digits, ".", "_" and "-"',
    example: 'secret',
  },
  path: {
    meaning: 'Path of the secret in it, below one of GATEWRIGHT_VAULT_PATHS.',
    pattern: /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/,
    lengthMax: 400,
    expected:
      'names of letters, digits, ".", "_" and "-" with "/" between them, none beginning with "."',
    example: 'support/bot',
  },
  key: {
    meaning: 'Key in the data of the secret.',
    pattern: /^[A-Za-z0-9._-]+$/,
    lengthMax: 100,
    expected: 'letters, digits, ".", "_" and "-"',
    example: 'api-key',
  },
} as const;

const sopsFields = {
  file: {
    meaning: 'The file, relative to the folder of the manifest.',
    pattern: /^[^\u0000-\u001f]+\.(yaml|yml|json)$/,
    lengthMax: 1_000,
    expected: 'a path to a .yaml, .yml or .json file of the source',
    example: 'secrets.sops.yaml',
  },
  key: {
    meaning: 'Path of the value in it, such as crm.token or ["a.b"].',
    pattern:
      /^([A-Za-z_$@][\w$@-]*|\["([^"\\]|\\.)+"\])(\.[A-Za-z_$@][\w$@-]*|\["([^"\\]|\\.)+"\])*$/,
    lengthMax: 1_000,
    expected: 'the path of a value, such as crm.token or ["a.b"]',
    example: 'crm.token',
  },
} as const;

/** By the key in `valueFrom` and `secretOutput`. */
export const placeForms: Readonly<Record<RemoteForm, PlaceForm>> = {
  kubernetesSecret: {
    meaning: 'A key of a Secret of Kubernetes.',
    isWritable: true,
    fields: kubernetesFields,
  },
  kubernetesConfigMap: {
    meaning: 'A key of a ConfigMap of Kubernetes.',
    isWritable: false,
    fields: kubernetesFields,
  },
  vault: {
    meaning: 'A key of a secret of Vault or OpenBao.',
    isWritable: true,
    fields: vaultFields,
  },
  sops: {
    meaning: 'A value in a file of this source that is encrypted by sops with age.',
    isWritable: false,
    fields: sopsFields,
  },
};

export function isRemoteForm(name: string): name is RemoteForm {
  return Object.hasOwn(placeForms, name);
}

export interface FormFault {
  /** Relative to the checked value; the value itself when absent. */
  readonly at?: string;
  /** Starts with the name of the form: `kubernetesSecret.namespace is required`. */
  readonly message: string;
  readonly fix: string;
}

/** Returns the fault in the fields of a place; undefined when they are valid. */
export function placeFormFault(form: RemoteForm, value: unknown): FormFault | undefined {
  const { fields } = placeForms[form];
  const names = Object.keys(fields);
  const fix = `write ${formExample(form)}`;
  if (!isMap(value)) return { message: `${form} must be a map`, fix };
  const extra = Object.keys(value).find((name) => !names.includes(name));
  if (extra !== undefined) {
    const near = didYouMean(extra, names) ?? `known are ${names.join(', ')}`;
    return { at: extra, message: `${form} has no field "${extra}"`, fix: near };
  }
  for (const [name, { pattern, lengthMax, expected }] of Object.entries(fields)) {
    const text = value[name];
    if (text === undefined) return { message: `${form}.${name} is required`, fix };
    if (typeof text !== 'string' || !pattern.test(text)) {
      return { at: name, message: `${form}.${name} must be ${expected}`, fix };
    }
    if (text.length > lengthMax) {
      return {
        at: name,
        message: `${form}.${name} must have at most ${lengthMax} characters`,
        fix: 'use a shorter one',
      };
    }
  }
  return undefined;
}

/** `kubernetesSecret: {namespace: support, name: support-bot, key: api-key}` */
function formExample(form: RemoteForm): string {
  const fields = Object.entries(placeForms[form].fields);
  return `${form}: {${fields.map(([name, { example }]) => `${name}: ${example}`).join(', ')}}`;
}
