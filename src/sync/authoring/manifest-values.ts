/**
 * Builds the JSON Schemas of fields that only manifests have: references, secrets, key
 * destinations.
 */
import type { KindName } from '../../model/kinds/kinds.ts';
import { placeForms } from '../manifest/place-forms.ts';
import { anyVariable, closedMap, type JsonSchema, orNull, orVariable } from './json-schema.ts';

/** `name`, or `workspace/name`. */
export function referenceName(
  kind: KindName,
  facts: { readonly isNullable?: boolean; readonly description?: string } = {},
): JsonSchema {
  const name = {
    description:
      `Name of ${kind.startsWith('A') ? 'an' : 'a'} ${kind} of this source, or workspace/name. ${facts.description ?? ''}`.trim(),
    examples: ['name'],
    type: 'string',
    pattern: String.raw`^[^/\s]+(/[^/\s]+)?$|\$\{`,
  };
  return facts.isNullable === true ? orNull(name) : name;
}

const prefix = { type: 'string', description: 'Put before the value, such as "Bearer ".' };
const optional = {
  type: 'boolean',
  description: 'If it is not set, the value on the server stays.',
  default: false,
};

/** The external places, except files and variables. */
const remotePlaces = Object.entries(placeForms).map(([name, { meaning, isWritable, fields }]) => {
  const properties = Object.entries(fields).map(([field, one]) => [
    field,
    {
      type: 'string',
      description: one.meaning,
      maxLength: one.lengthMax,
      pattern: `${one.pattern.source}|${anyVariable}`,
      examples: [one.example],
    },
  ]);
  const map = closedMap(Object.fromEntries(properties), Object.keys(fields));
  return { name, isWritable, schema: { description: meaning, ...map } };
});

/** A map with exactly one of the forms, and the fields of each. */
function oneForm(
  forms: Readonly<Record<string, JsonSchema>>,
  more: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema {
  const oneOf = Object.keys(forms).map((name) => ({ required: [name] }));
  return { ...closedMap({ ...forms, ...more }), oneOf };
}

const valueFrom: JsonSchema = {
  description: 'Origin from which the value is read when needed.',
  ...oneForm(
    {
      env: {
        type: 'string',
        description:
          'Variable with the value; manifests may read those whose names start with GW_VAR_.',
        pattern: `^[A-Za-z_][A-Za-z0-9_]*$|${anyVariable}`,
        examples: ['GW_VAR_TOKEN'],
      },
      file: { type: 'string', description: 'File in the secrets folder with the value.' },
      ...Object.fromEntries(remotePlaces.map(({ name, schema }) => [name, schema])),
    },
    { prefix, optional },
  ),
};

/** A write-only value: from an origin, or text that is not a credential. */
export function secretValue(description: string): JsonSchema {
  return {
    ...(description === '' ? {} : { description }),
    anyOf: [closedMap({ valueFrom }, ['valueFrom']), { type: 'string' }],
  };
}

const keyFile = closedMap(
  {
    path: {
      type: 'string',
      description: 'File for the value of the key, relative to the secrets folder.',
      maxLength: 255,
      pattern: String.raw`^(?!/)(?!.*(?:^|/)(?:\.|/|$))[A-Za-z0-9._/-]+$|\$\{`,
      examples: ['support/bot.key'],
    },
    mode: {
      type: 'string',
      description: 'Octal permissions of the file, in quotes; readable by its owner.',
      pattern: String.raw`^0?[4-7][0145][0145]$|\$\{`,
      default: '0600',
    },
  },
  ['path'],
);

const target: JsonSchema = {
  description: 'Destination of the value of a new key; the server returns it once.',
  ...oneForm({
    file: { description: 'A file of the secrets folder.', ...keyFile },
    ...Object.fromEntries(
      remotePlaces.flatMap(({ name, isWritable, schema }) => (isWritable ? [[name, schema]] : [])),
    ),
  }),
};

const rotation: JsonSchema = {
  description: 'When the value of the key is replaced; the new one goes to secretOutput.',
  ...closedMap({
    period: {
      description: 'How often: weekly, monthly, or a number of days.',
      type: 'string',
      pattern: String.raw`^(weekly|monthly|([1-9]|[1-9]\d|[12]\d\d|3[0-5]\d|36[0-5])d)$|\$\{`,
      examples: ['30d'],
    },
    overlap: {
      description: 'How long the previous value stays valid; less than the period.',
      type: 'string',
      pattern: String.raw`^[1-9]\d{0,5}[mhd]$|\$\{`,
      default: '30m',
      examples: ['24h'],
    },
    generation: orNull(
      orVariable({
        description: 'A higher number replaces the value now.',
        type: 'integer',
        minimum: 1,
        maximum: 1_000_000_000,
        default: 1,
      }),
    ),
  }),
};

/**
 * Fields of an ApiKey spec that the API body does not have, in both spellings, and their
 * dependencies.
 */
export const keyFields: Readonly<Record<string, JsonSchema>> = {
  secretOutput: target,
  secret_output: { ...target, doNotSuggest: true },
  rotation,
};
export const keyDependencies: Readonly<Record<string, JsonSchema>> = {
  secret_output: { not: { required: ['secretOutput'] } },
  rotation: {
    anyOf: [{ required: ['secretOutput'] }, { required: ['secret_output'] }],
    not: { anyOf: [{ required: ['rotationPolicy'] }, { required: ['rotation_policy'] }] },
  },
};
