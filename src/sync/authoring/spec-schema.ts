/** Converts the schema of a kind's body to a JSON Schema of its spec in manifest spelling. */
import { z } from 'zod';
import { Level } from '../../model/configs/config-level.ts';
import {
  hasCredential,
  type KindName,
  kinds,
  type ReferenceField,
} from '../../model/kinds/kinds.ts';
import { loadSpecSchema } from '../../model/kinds/spec-schemas.ts';
import { extensionsField, namesWithoutEffect } from '../../model/wire/unknown-fields.ts';
import { type Shape, shapeOf, toCamelCase, toSnakeCase } from '../resources/spec-shape.ts';
import { isScalar, type JsonSchema, orNull, orVariable, takesNull } from './json-schema.ts';
import { keyDependencies, keyFields, referenceName, secretValue } from './manifest-values.ts';

/** Fields that the envelope implies, which a spec may omit or set to null. */
function isImplied(kind: KindName, field: string): boolean {
  return field === 'name' || (kind === 'ApiKey' && ['type', 'sub_type'].includes(field));
}

/** @returns the schema, and whether a manifest of this kind needs a spec */
export async function specSchema(kind: KindName): Promise<JsonSchema> {
  return new SpecSchema(kind, true).write(jsonSchemaOf(await loadSpecSchema(kind)));
}

/** Definitions shared by schemas of specs: a level of a routing document, which is recursive. */
export function sharedSchemas(): Readonly<Record<string, JsonSchema>> {
  const { $schema: _, properties, ...rest } = jsonSchemaOf(Level);
  const { targets, ...others } = properties as Record<string, JsonSchema>;
  const level = {
    ...rest,
    properties: { ...others, targets: { ...targets, items: routingLevel } },
  };
  return { RoutingLevel: new SpecSchema('Config', false).writeDocument(level) };
}

const routingLevel: JsonSchema = { $ref: '#/definitions/RoutingLevel' };

function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, {
    io: 'input',
    target: 'draft-7',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const names = namesWithoutEffect(zodSchema);
      if (names !== null) Object.assign(jsonSchema, closedTo(jsonSchema as JsonSchema, names));
      const { enum: words } = jsonSchema;
      if (words?.every(Number.isInteger)) jsonSchema.type = 'integer';
    },
  }) as JsonSchema;
}

/** Validation refuses unknown fields of these objects (model/wire/unknown-fields.ts). */
function closedTo({ properties }: JsonSchema, names: readonly string[]): JsonSchema {
  const description = 'Accepted for other gateways; has no effect here.';
  const others = names.map((name) => [name, { description, doNotSuggest: true }] as const);
  const extensions = {
    type: 'object',
    description: 'Anything else; not read.',
    doNotSuggest: true,
  };
  return {
    properties: {
      ...Object.fromEntries(others),
      [extensionsField]: extensions,
      ...(properties as Record<string, JsonSchema>),
    },
    additionalProperties: false,
  };
}

class SpecSchema {
  readonly #kind: KindName;
  /** Whether a value that is one variable takes the type of its field; not in documents. */
  readonly #isTyped: boolean;

  constructor(kind: KindName, isTyped: boolean) {
    this.#kind = kind;
    this.#isTyped = isTyped;
  }

  write(body: JsonSchema): JsonSchema {
    const { $schema: _, properties, required = [], ...rest } = body;
    const { workspace_id: _workspace, ...own } = properties as Record<string, JsonSchema>;
    const needed = (required as readonly string[]).filter((field) => !isImplied(this.#kind, field));
    const spec = this.#map({ ...rest, properties: own, required: needed }, shapeOf(this.#kind), 0);
    if (this.#kind === 'Config') return withLevel(spec);
    if (!hasCredential(this.#kind)) return spec;
    return {
      ...spec,
      properties: { ...(spec.properties as object), ...keyFields },
      dependencies: { ...(spec.dependencies as object), ...keyDependencies },
    };
  }

  /** A document that is taken unchanged. */
  writeDocument(document: JsonSchema): JsonSchema {
    return this.#map(document, shapeOf('Config').child('config'), 1);
  }

  #value(schema: JsonSchema, shape: Shape, depth: number): JsonSchema {
    if (shape.secret) {
      const value = secretValue(String(schema.description ?? ''));
      return mayBeNull(schema) ? orNull(value) : value;
    }
    if (Array.isArray(schema.anyOf)) return this.#alternatives(schema, shape, depth);
    if (Array.isArray(schema.type) && schema.type.includes('null')) {
      const type = schema.type.filter((name) => name !== 'null');
      const only = type.length === 1 ? type[0] : type;
      return orNull(this.#value({ ...schema, type: only }, shape, depth));
    }
    if (schema.type === 'array') {
      const items = this.#value((schema.items ?? {}) as JsonSchema, shape.child('0'), depth);
      return { ...schema, items: withReferences(items, shape.child('0').references) };
    }
    if (schema.type === 'object') return this.#map(schema, shape, depth);
    const mayBeVariable = isScalar(schema) && (this.#isTyped || schema.type === 'string');
    return mayBeVariable ? orVariable(schema) : schema;
  }

  #alternatives(schema: JsonSchema, shape: Shape, depth: number): JsonSchema {
    const { anyOf, ...notes } = schema;
    const all = (anyOf as JsonSchema[]).filter(({ type }) => type !== 'null');
    const isNullable = all.length < (anyOf as JsonSchema[]).length;
    const written = all.map((one) => this.#value(one, shape, depth));
    const single = written.length === 1 ? written[0] : undefined;
    const together = single === undefined ? { ...notes, anyOf: written } : { ...single, ...notes };
    return isNullable ? orNull(together) : together;
  }

  #map(schema: JsonSchema, shape: Shape, depth: number): JsonSchema {
    const { properties, required, propertyNames, additionalProperties, ...rest } = schema;
    const names = propertyNames as JsonSchema | undefined;
    const isOpen = typeof additionalProperties === 'object' && additionalProperties !== null;
    const member = shape.child('x');
    const others = isOpen
      ? withReferences(
          this.#value(additionalProperties as JsonSchema, member, depth + 1),
          member.references,
        )
      : additionalProperties;
    const isNamed = names !== undefined && Object.keys(names).some((word) => word !== 'type');
    const base: JsonSchema = {
      ...rest,
      ...(isNamed ? { propertyNames: names } : {}),
      ...(others === undefined ? {} : { additionalProperties: others }),
    };
    if (properties === undefined) return base;
    return { ...base, ...this.#fields(properties, (required ?? []) as string[], shape, depth) };
  }

  #fields(properties: unknown, required: readonly string[], shape: Shape, depth: number) {
    const fields: Record<string, JsonSchema> = {};
    const oneOfThese: (readonly string[])[] = [];
    for (const [field, schema] of Object.entries(properties as Record<string, JsonSchema>)) {
      const references = shape.child(field).references.filter(({ path }) => !path.endsWith('*'));
      const keys = shape.opaque ? [field] : spellings(field, depth);
      const referring = references.flatMap(({ manifestField }) =>
        manifestField === '' ? [] : spellings(toSnakeCase(manifestField), depth),
      );
      const written = this.#noted(field, this.#value(schema, shape.child(field), depth + 1), depth);
      const value = depth === 0 && isImplied(this.#kind, field) ? orNull(written) : written;
      for (const { manifestField, kind } of references) {
        const name = referenceName(kind, {
          isNullable: takesNull(value),
          ...(field === 'value' ? {} : notesOf(value)),
        });
        spell(fields, spellings(toSnakeCase(manifestField), depth), name);
      }
      // Next to a reference by name, a server's id is not worth suggesting; the name of a service is.
      const isId = references.some(({ prefix }) => prefix === undefined) && field !== 'value';
      spell(fields, keys, value, isId);
      const all = [...referring, ...keys];
      if (required.includes(field) || all.length > 1) {
        oneOfThese.push(required.includes(field) ? all : ['', ...all]);
      }
    }
    return { properties: fields, ...countRules(oneOfThese) };
  }

  /** Adds the effect of a change to the description of a field. */
  #noted(field: string, schema: JsonSchema, depth: number): JsonSchema {
    const { immutable, sets } = kinds[this.#kind];
    if (depth > 0) return schema;
    const notes = [
      ...(immutable.includes(field) ? ['Fixed: another value replaces the resource.'] : []),
      ...(sets.includes(field) ? ['The order has no meaning.'] : []),
    ];
    const description = [schema.description ?? '', ...notes].join(' ').trim();
    return description === '' ? schema : { ...schema, description };
  }
}

function withLevel(spec: JsonSchema): JsonSchema {
  const { config, ...others } = spec.properties as Record<string, JsonSchema>;
  const { description, examples } = config!;
  const document = { description, examples, allOf: [routingLevel] };
  return { ...spec, properties: { ...others, config: document } };
}

function notesOf({ description }: JsonSchema): { readonly description?: string } {
  return typeof description === 'string' ? { description } : {};
}

/**
 * Returns `credit_limit` in both spellings, the usual one first. At the top the API has names of
 * its own.
 */
function spellings(field: string, depth: number): string[] {
  if (depth === 0 && field !== field.toLowerCase()) return [field];
  const camel = toCamelCase(field);
  return camel !== field && toSnakeCase(camel) === field ? [camel, field] : [field];
}

/** Editors suggest only the usual spelling. */
function spell(
  written: Record<string, JsonSchema>,
  [usual, other]: readonly string[],
  schema: JsonSchema,
  isHidden = false,
): void {
  written[usual!] = isHidden ? { ...schema, doNotSuggest: true } : schema;
  if (other !== undefined) written[other] = { ...schema, doNotSuggest: true };
}

/** Requires one of several keys, or allows none (`''`), and never two of them. */
function countRules(groups: readonly (readonly string[])[]): JsonSchema {
  const required = groups.flatMap((keys) => (keys.length === 1 ? keys : []));
  const needed = groups
    .filter((keys) => keys.length > 1 && keys[0] !== '')
    .map((keys) => ({ anyOf: keys.map((key) => ({ required: [key] })) }));
  const exclusive = groups.flatMap((keys) => {
    const real = keys.filter((key) => key !== '');
    return real.slice(1).map((key, at) => {
      const before = real.slice(0, at + 1).map((other) => ({ required: [other] }));
      return [key, { not: before.length === 1 ? before[0] : { anyOf: before } }] as const;
    });
  });
  return {
    ...(required.length === 0 ? {} : { required }),
    ...(needed.length === 0 ? {} : { allOf: needed }),
    ...(exclusive.length === 0 ? {} : { dependencies: Object.fromEntries(exclusive) }),
  };
}

/** Members of a list or map may be references by name, each alone in a map. */
function withReferences(items: JsonSchema, references: readonly ReferenceField[]): JsonSchema {
  if (references.length === 0) return items;
  const maps = references.map(({ manifestField, kind }) => {
    const properties: Record<string, JsonSchema> = {};
    const keys = spellings(toSnakeCase(manifestField), 1);
    spell(properties, keys, referenceName(kind));
    return {
      type: 'object',
      properties,
      minProperties: 1,
      maxProperties: 1,
      additionalProperties: false,
    };
  });
  const keys = references.flatMap(({ manifestField }) => spellings(toSnakeCase(manifestField), 1));
  const isOne = keys.map((key) => ({ required: [key], maxProperties: 1 }));
  const others = ((items.anyOf as JsonSchema[] | undefined) ?? [items]).map((item) =>
    item.type === 'object' ? { ...item, not: { anyOf: isOne } } : item,
  );
  return { anyOf: [...maps, ...others] };
}

function mayBeNull({ type, anyOf }: JsonSchema): boolean {
  const alternatives = Array.isArray(anyOf) ? (anyOf as JsonSchema[]) : [];
  return [type].flat().includes('null') || alternatives.some((one) => one.type === 'null');
}
