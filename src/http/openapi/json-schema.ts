/** Converts the schemas of routes to JSON Schema, with what zod's own conversion lacks. */
import { z } from 'zod';
import { isOptional } from '../input/null-fields.ts';
import { fieldText } from './texts/fields.ts';

export type OpenApiJson = Record<string, unknown>;

/** Purpose for which a schema is written. */
export interface SchemaUse {
  readonly io: 'input' | 'output';
  /** Whether unknown fields are dropped. */
  readonly isLenient?: boolean;
  /** Whether null is accepted for optional fields. */
  readonly takesNull?: boolean;
}

export function jsonSchemaOf(schema: z.ZodType, use: SchemaUse): OpenApiJson {
  const {
    $schema: _,
    $defs,
    ...json
  } = z.toJSONSchema(schema, {
    io: use.io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => refine(zodSchema, jsonSchema, use),
  }) as OpenApiJson;
  return $defs === undefined ? json : (withAnyValue(json) as OpenApiJson);
}

/** A value of any JSON is the only recursive schema. Types of clients cannot refer to themselves, so it has none. */
function withAnyValue(json: unknown): unknown {
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) return json.map(withAnyValue);
  if ('$ref' in json && /^#\/\$defs\/__schema\d+$/.test(String(json.$ref))) {
    return { description: 'Any JSON value.' };
  }
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, withAnyValue(value)]));
}

/** The schemas of the fields of parameters or of a query. */
export function schemaFields(schema: z.ZodType | undefined): {
  readonly properties: Readonly<Record<string, OpenApiJson>>;
  readonly required: readonly string[];
} {
  const json = schema === undefined ? {} : jsonSchemaOf(schema, { io: 'input' });
  return {
    properties: (json.properties ?? {}) as Record<string, OpenApiJson>,
    required: (json.required ?? []) as string[],
  };
}

type JsonSchema = z.core.JSONSchema.BaseSchema;

function refine(
  { _zod: { def } }: z.core.$ZodTypes,
  json: JsonSchema,
  { isLenient, takesNull }: SchemaUse,
): void {
  const named = json.enum ?? [json.const];
  if (json.type === 'number' && named.every(Number.isInteger)) json.type = 'integer';
  // zod omits the default where text of a parameter becomes a number.
  if (def.type === 'default' && json.type === 'integer') json.default = def.defaultValue as number;
  if (isLenient === true && json.additionalProperties === false) {
    delete json.additionalProperties;
  }
  if (def.type !== 'object') return;
  describeFields(json);
  if (takesNull === true) acceptNulls(def.shape, json);
}

/** Schemas of fields that name their meaning nowhere else get the usual meaning of the name. */
function describeFields(json: JsonSchema): void {
  for (const [field, schema] of Object.entries(json.properties ?? {})) {
    if (typeof schema !== 'object' || isDescribed(schema)) continue;
    const text = fieldText(field);
    if (text !== null) json.properties![field] = { ...schema, description: text };
  }
}

function isDescribed(schema: JsonSchema): boolean {
  if (schema.description !== undefined || schema.$ref !== undefined) return true;
  return (schema.anyOf ?? []).some((one) => (one as JsonSchema).description !== undefined);
}

function acceptNulls(shape: Readonly<Record<string, z.core.$ZodType>>, json: JsonSchema): void {
  for (const [field, schema] of Object.entries(shape)) {
    const described = json.properties?.[field];
    if (described === undefined || !isOptional(schema) || z.safeParse(schema, null).success) {
      continue;
    }
    json.properties![field] = { anyOf: [described as JsonSchema, { type: 'null' }] };
  }
}
