/** Defines each schema of the OpenAPI document once, under the name of what it describes. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { z } from 'zod';
import { EqualValues } from './equal-values.ts';
import { jsonSchemaOf, type OpenApiJson, type SchemaUse } from './json-schema.ts';
import { partName, type SchemaName } from './schema-names.ts';

/** Bodies of this length or more are defined under a name, and referenced. */
const namedFromChars = 80;
/** So are parts of bodies, if several bodies have them. */
const partFromChars = 250;
const partUsesMin = 3;

const prefix = '#/components/schemas/';

/** A body with everything that uses it. */
interface Body {
  readonly json: OpenApiJson;
  readonly candidates: SchemaName[];
  /** Completed when the name is known. */
  readonly reference: { $ref: string };
}

export class ComponentSchemas {
  readonly #values = new EqualValues();
  /** By the number of the value and the resource, so that equal schemas of two resources have two names. */
  readonly #bodies = new Map<string, Body>();
  readonly #defined: Map<string, OpenApiJson>;
  /** Names of schemas by the number of their value. */
  readonly #names = new Map<number, string>();

  /** `defined` have their names already. */
  constructor(defined: Readonly<Record<string, OpenApiJson>>) {
    this.#defined = new Map(Object.entries(defined));
  }

  /** Returns the schema itself or a reference, which is complete after {@link define}. */
  write(schema: z.ZodType, use: SchemaUse, name: SchemaName): OpenApiJson {
    const json = jsonSchemaOf(schema, use);
    if (this.#values.charsOf(json) < namedFromChars) return json;
    const key = `${this.#values.numberOf(json)} ${name.noun}`;
    const body = this.#bodies.get(key) ?? { json, candidates: [], reference: { $ref: '' } };
    this.#bodies.set(key, body);
    body.candidates.push(name);
    return body.reference as unknown as OpenApiJson;
  }

  /** Names and returns all schemas. Yields in between, because the work takes long. */
  async define(): Promise<Record<string, OpenApiJson>> {
    const ranked = [...this.#bodies.values()].map((body) => ({
      ...body,
      candidates: body.candidates.toSorted((one, other) => one.rank - other.rank),
    }));
    // Better names first, so that no other schema takes them.
    ranked.sort((one, other) => one.candidates[0]!.rank - other.candidates[0]!.rank);
    for (const { json, candidates, reference } of ranked) {
      const name = this.#freeName(candidates);
      reference.$ref = prefix + name;
      const number = this.#values.numberOf(json);
      if (!this.#names.has(number)) this.#names.set(number, name);
      this.#defined.set(name, json);
    }
    await this.#nameParts();
    const shared: Record<string, OpenApiJson> = {};
    for (const name of [...this.#defined.keys()].toSorted()) {
      await nextTurn();
      shared[name] = this.#withReferences(this.#defined.get(name)!);
    }
    return shared;
  }

  /** The most general of the names that nothing else has. */
  #freeName(candidates: readonly SchemaName[]): string {
    const names = candidates.flatMap(({ name, mountedName }) => [name, mountedName]);
    const free = names.find((name) => !this.#defined.has(name));
    if (free === undefined) throw new Error(`no name is free for the schema of ${names[0]}`);
    return free;
  }

  /** Gives names to large parts that several bodies have, and not to parts of these that occur nowhere else. */
  async #nameParts(): Promise<void> {
    const all = await this.#findParts(new Set());
    const repeated = new Set(all.keys());
    const found = await this.#findParts(repeated);
    for (const [number, { json, field, bodies }] of found) {
      const name = partName({ field, bodies }, (taken) => this.#defined.has(taken));
      this.#names.set(number, name);
      this.#defined.set(name, json);
    }
  }

  /** Does not look inside of parts in `closed`. */
  async #findParts(closed: ReadonlySet<number>): Promise<Map<number, Part>> {
    const parts = new Map<number, Part>();
    const isClosed = (json: OpenApiJson): boolean => closed.has(this.#values.numberOf(json));
    for (const [body, json] of this.#defined) {
      await nextTurn();
      for (const [field, part] of partsOf(json, '', isClosed)) {
        const number = this.#values.numberOf(part);
        if (this.#names.has(number) || this.#values.charsOf(part) < partFromChars) continue;
        const known = parts.get(number) ?? { json: part, field, bodies: [] };
        if (known.bodies.at(-1) !== body) known.bodies.push(body);
        parts.set(number, known);
      }
    }
    return new Map([...parts].filter(([, { bodies }]) => bodies.length >= partUsesMin));
  }

  /** Replaces all parts that have a name by references. */
  #withReferences(json: OpenApiJson): OpenApiJson {
    const replaced = (value: unknown): unknown => {
      if (typeof value !== 'object' || value === null) return value;
      if (Array.isArray(value)) return value.map(replaced);
      const name = this.#names.get(this.#values.numberOf(value));
      return name === undefined
        ? this.#withReferences(value as OpenApiJson)
        : { $ref: prefix + name };
    };
    return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, replaced(value)]));
  }
}

/** A schema inside of others. */
interface Part {
  readonly json: OpenApiJson;
  /** The field that contains it. */
  readonly field: string;
  /** Names of the schemas that contain it. */
  readonly bodies: string[];
}

/** Schemas of objects inside of a schema, each with the field that contains it. */
function* partsOf(
  value: unknown,
  field: string,
  isClosed: (json: OpenApiJson) => boolean,
): Generator<[field: string, part: OpenApiJson]> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, part] of Object.entries(value)) {
    if (typeof part !== 'object' || part === null) continue;
    const inner = Array.isArray(value) || keywords.has(key) ? field : key;
    const isObject = 'properties' in part && part.type === 'object';
    if (isObject && inner !== '') yield [inner, part as OpenApiJson];
    if (!isObject || !isClosed(part as OpenApiJson)) yield* partsOf(part, inner, isClosed);
  }
}

/** Words of JSON Schema; other names are those of fields. */
const keywords = new Set([
  'additionalProperties',
  'allOf',
  'anyOf',
  'items',
  'oneOf',
  'properties',
]);
