/** Builds the JSON Schemas of whole manifests: of one kind, of an External, of any document. */
import { managedNamePattern } from '../../managed-name.ts';
import { type KindName, kindNames, kinds, singletonName } from '../../model/kinds/kinds.ts';
import { apiVersion } from '../manifest/document-owner.ts';
import { annotations } from '../manifest/manifest-metadata.ts';
import { closedMap, conditionalSchema, type JsonSchema, orNull } from './json-schema.ts';
import { kindNotes } from './kind-notes.ts';
import { sharedSchemas, specSchema } from './spec-schema.ts';

/** The draft with the best editor support. */
const draft = { $schema: 'http://json-schema.org/draft-07/schema#' };

/** The schema of manifests of one kind. */
export async function kindSchema(kind: KindName): Promise<JsonSchema> {
  const definitions = kind === 'Config' ? { definitions: sharedSchemas() } : {};
  return { ...draft, ...(await manifestOf(kind)), ...definitions };
}

/** The schema of any document of a source: every kind, External, List and Defaults. */
export async function anySchema(): Promise<JsonSchema> {
  const definitions: Record<string, JsonSchema> = {};
  for (const kind of kindNames) definitions[kind] = await manifestOf(kind);
  definitions.External = external;
  definitions.List = list;
  definitions.Defaults = defaults;
  const names = Object.keys(definitions);
  return {
    ...draft,
    title: 'Manifest of gatewright',
    type: 'object',
    required: ['kind'],
    properties: {
      apiVersion: { description: 'Version of the manifest format.', enum: [apiVersion, 'v1'] },
      kind: { description: 'What the manifest declares.', enum: names },
    },
    allOf: names.map((kind) => {
      const isOfKind = { properties: { kind: { const: kind } }, required: ['kind'] };
      return conditionalSchema(isOfKind, { $ref: `#/definitions/${kind}` });
    }),
    definitions: { ...definitions, ...sharedSchemas() },
  };
}

async function manifestOf(kind: KindName): Promise<JsonSchema> {
  const spec = await specSchema(kind);
  const isNeeded = spec.required !== undefined || spec.allOf !== undefined;
  const { workspaced, isSingleton: isOnlyOne } = kinds[kind];
  const described = { description: `What the ${kind} is to be.`, ...spec };
  return {
    title: kind,
    description: kindNotes[kind].meaning,
    ...closedMap(
      {
        ...envelope(kind),
        patch,
        metadata: metadata(workspaced, isOnlyOne === true),
        spec: { description: described.description },
        state: {
          description: 'Whether the resource must exist.',
          enum: ['present', 'absent'],
          default: 'present',
        },
      },
      ['apiVersion', 'kind', 'metadata'],
    ),
    ...conditionalSchema(
      { required: ['patch'] },
      { properties: { spec: { type: 'object' } } },
      conditionalSchema(
        { properties: { state: { const: 'absent' } }, required: ['state'] },
        { properties: { spec: { type: ['object', 'null'] } } },
        {
          properties: { spec: isNeeded ? described : orNull(described) },
          ...(isNeeded ? { required: ['spec'] } : {}),
        },
      ),
    ),
  };
}

function envelope(kind: string): Record<string, JsonSchema> {
  return {
    apiVersion: { description: 'Version of the manifest format.', const: apiVersion },
    kind: { description: 'What the manifest declares.', const: kind },
    sops,
  };
}

/** Written by sops when it encrypts a manifest. */
const sops: JsonSchema = {
  description: 'Metadata of sops about the encrypted values; never edited by hand.',
  type: 'object',
  required: ['mac'],
  doNotSuggest: true,
};

/** Everything else in it is checked in the manifest that it changes. */
const patch: JsonSchema = {
  description: 'Goes into the manifest of this kind and name, in one environment.',
  const: true,
  doNotSuggest: true,
};

const namePattern = String.raw`${managedNamePattern.source}|\$\{`;

function metadata(workspaced: 'none' | 'required' | 'optional', isOnlyOne = false): JsonSchema {
  const name = (description: string): JsonSchema => ({
    description,
    type: 'string',
    pattern: namePattern,
  });
  const workspace = name('Name of a Workspace manifest or External of the same source.');
  const ours = [...annotations].map(([key, { meaning, values }]) => [
    key,
    { description: meaning, enum: values, default: values[0] },
  ]);
  const known = [...annotations.keys()].map((key) => key.slice(annotationGroup.length));
  return {
    description: 'Identity and lifecycle of the resource.',
    ...closedMap(
      {
        name: isOnlyOne
          ? { description: 'There is exactly one, with this name.', const: singletonName }
          : name('Name of the resource in this source; also its spec.name when that is left out.'),
        workspace:
          workspaced === 'none'
            ? { description: 'Belongs to no workspace.', type: 'null', doNotSuggest: true }
            : workspaced === 'optional'
              ? orNull(workspace)
              : workspace,
        labels: orNull({
          description: 'Text values for your own use.',
          type: 'object',
          additionalProperties: { type: 'string' },
        }),
        previousNames: {
          description: 'Previous names: a resource with one of them is renamed, not recreated.',
          type: 'array',
          items: { type: 'string', pattern: namePattern },
        },
        ignoreFields: {
          description: 'Paths of fields that other tools own: the value on the server stays.',
          type: 'array',
          items: { type: 'string' },
          examples: [['spec.rateLimits']],
        },
        protected: {
          description: 'Never deleted or replaced.',
          type: 'boolean',
          default: false,
        },
        annotations: orNull({
          description: 'Instructions for gatewright and other tools.',
          type: 'object',
          properties: Object.fromEntries(ours),
          patternProperties: { [`^gatewright\\.dev/(?!(?:${known.join('|')})$)`]: false },
        }),
      },
      workspaced === 'required' ? ['name', 'workspace'] : ['name'],
    ),
  };
}

const annotationGroup = 'gatewright.dev/';

const external: JsonSchema = {
  title: 'External',
  description: 'A resource on the server that is only referred to.',
  ...closedMap(
    {
      ...envelope('External'),
      metadata: metadata('optional'),
      spec: {
        description: 'How it is found on the server.',
        ...closedMap(
          {
            kind: { description: 'What it is.', enum: kindNames },
            slug: { description: 'Its slug.', type: 'string', minLength: 1 },
            id: { description: 'Its id.', type: 'string', minLength: 1 },
            name: {
              description: 'Its name on the server, unique in its workspace.',
              type: 'string',
              minLength: 1,
            },
          },
          ['kind'],
        ),
        oneOf: [{ required: ['slug'] }, { required: ['id'] }, { required: ['name'] }],
      },
      state: { enum: ['present'], doNotSuggest: true },
    },
    ['apiVersion', 'kind', 'metadata', 'spec'],
  ),
};

const defaults: JsonSchema = {
  title: 'Defaults',
  description: 'Defaults for every manifest of a kind in this folder and below.',
  ...closedMap(
    {
      ...envelope('Defaults'),
      spec: {
        description: 'Parts of specs, by kind.',
        ...closedMap(
          Object.fromEntries(
            kindNames.map((kind) => [
              kind,
              { description: `Defaults of each ${kind}.`, type: 'object' },
            ]),
          ),
        ),
      },
    },
    ['apiVersion', 'kind', 'spec'],
  ),
};

const list: JsonSchema = {
  title: 'List',
  description: 'Several manifests in one document.',
  ...closedMap(
    {
      apiVersion: { description: 'Version of the manifest format.', enum: [apiVersion, 'v1'] },
      kind: { description: 'What the manifest declares.', const: 'List' },
      metadata: {},
      sops,
      items: {
        description: 'The manifests.',
        type: 'array',
        items: { allOf: [{ $ref: '#' }, { properties: { kind: { not: { const: 'List' } } } }] },
      },
    },
    ['kind', 'items'],
  ),
};
