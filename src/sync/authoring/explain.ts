/** Explains a field: meaning, type, bounds, default, effect of a change, example. */
import { Failure } from '../../failure.ts';
import { type KindName, kinds } from '../../model/kinds/kinds.ts';
import { levelsKey, levelsPart } from '../../model/manifests/path-patterns.ts';
import { didYouMean } from '../../suggest.ts';
import { oneLine } from '../../terminal-text.ts';
import { toSnakeCase } from '../resources/spec-shape.ts';
import { boundsOf, exampleOf, typeText } from './field-facts.ts';
import { type JsonSchema, takesNull } from './json-schema.ts';

/** The description of a field. */
export interface Explanation {
  /** `ApiKey.spec.usageLimits.creditLimit` */
  readonly field: string;
  readonly meaning: string;
  readonly type: string;
  readonly bounds: string | null;
  readonly default: unknown;
  readonly required: boolean;
  /** Fields of which exactly one is given, including this one; empty without alternatives. */
  readonly alternatives: readonly string[];
  /** The effect of a changed value, and of null, on the resource. */
  readonly change: 'in place' | 'replaces the resource' | null;
  readonly clearedByNull: boolean;
  readonly secret: boolean;
  readonly example: unknown;
  /** Fields below it; for a kind, those of its spec. */
  readonly fields: readonly ExplainedField[];
}

interface ExplainedField {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly alternatives: readonly string[];
  readonly secret: boolean;
  readonly meaning: string;
}

/**
 * @param root the schema of the kind's manifests, which `kindSchema` returns
 * @param path below the manifest or below its spec, in either spelling
 * @throws Failure when there is no such field
 */
export function explain(kind: KindName, root: JsonSchema, path: readonly string[]): Explanation {
  const definitions = (root.definitions ?? {}) as Readonly<Record<string, JsonSchema>>;
  const reader = new SchemaReader(definitions);
  const spec = specOf(root);
  const properties = { ...(root.properties as Record<string, JsonSchema>), spec };
  let at: JsonSchema = { ...root, properties };
  let presence: Presence = { isRequired: true, alternatives: [] };
  const keys: string[] = [];
  const [first] = path;
  const wanted = first === undefined || Object.hasOwn(properties, first) ? path : ['spec', ...path];
  for (const word of wanted) {
    const fields = reader.fieldsOf(at);
    const found = fields.find(({ name }) => name === word) ?? reader.otherSpelling(fields, word);
    const below = found ?? reader.anyKey(at, word);
    if (below === undefined) throw unknownField([kind, ...keys], word, fields);
    keys.push(below.name);
    presence = below;
    at = below.schema;
  }
  return explanationOf(kind, keys, at, reader, presence);
}

/** Returns the spec schema of a present resource, behind the conditions for others. */
function specOf({ properties, else: other }: JsonSchema): JsonSchema {
  const { spec } = (properties ?? {}) as { readonly spec?: JsonSchema };
  return other === undefined ? spec! : specOf(other as JsonSchema);
}

function explanationOf(
  kind: KindName,
  keys: readonly string[],
  schema: JsonSchema,
  reader: SchemaReader,
  { isRequired, alternatives }: Presence,
): Explanation {
  const { immutable, references } = kinds[kind];
  const [top, ...below] = keys;
  const wire = below.map(toSnakeCase);
  const byReference = references.find(({ manifestField }) => manifestField === below[0])?.path;
  const isFixed = immutable.includes(byReference ?? wire[0] ?? '');
  const { spec } = (schema.properties ?? {}) as { readonly spec?: JsonSchema };
  const fields = reader.fieldsOf(keys.length === 0 ? spec! : schema);
  const inSpec = top === 'spec' && below.length > 0;
  return {
    field: [kind, ...keys].join('.'),
    meaning: String(schema.description ?? 'Taken unchanged, in its own spelling.'),
    type: typeText(schema, reader.resolve),
    bounds: boundsOf(schema),
    default: schema.default ?? null,
    required: isRequired,
    alternatives,
    change: inSpec ? (isFixed ? 'replaces the resource' : 'in place') : null,
    clearedByNull: inSpec && takesNull(schema),
    secret: inSpec && isSecretField(kind, wire),
    example: keys.length === 0 ? null : exampleOf(schema, reader.resolve),
    fields: fields.map(({ name, schema: field, ...given }) => ({
      name,
      type: typeText(field, reader.resolve),
      required: given.isRequired,
      alternatives: given.alternatives,
      secret: isSecretField(kind, [...wire, toSnakeCase(name)]),
      meaning: String(field.description ?? ''),
    })),
  };
}

/** @param keys a path in the spec without the indexes of lists, which explained paths never have */
function isSecretField(kind: KindName, keys: readonly string[]): boolean {
  return kinds[kind].secrets.some((pattern) => matchesKeys(pattern.split('.'), keys));
}

/** As `matchesPattern`, where a part that may be an index also matches no key. */
function matchesKeys([part, ...rest]: readonly string[], keys: readonly string[]): boolean {
  const [key, ...others] = keys;
  if (part === undefined) return key === undefined;
  if (part === '**') {
    return matchesKeys(rest, keys) || (key !== undefined && matchesKeys([part, ...rest], others));
  }
  if (part === levelsPart) {
    return matchesKeys(rest, keys) || (key === levelsKey && matchesKeys([part, ...rest], others));
  }
  if (part === '*' && rest.length > 0 && matchesKeys(rest, keys)) return true;
  return key !== undefined && (part === '*' || part === key) && matchesKeys(rest, others);
}

function unknownField(
  above: readonly string[],
  word: string,
  fields: readonly { readonly name: string }[],
): Failure {
  const names = fields.map(({ name }) => name);
  const known = names.length === 0 ? 'it has no fields' : `known are ${names.join(', ')}`;
  const hint = didYouMean(word, names) ?? known;
  return new Failure('invalidInput', `${above.join('.')} has no field "${oneLine(word)}": ${hint}`);
}

/** Whether a field must be given; if it is one of several, exactly one of these must. */
interface Presence {
  readonly isRequired: boolean;
  readonly alternatives: readonly string[];
}

interface FoundField extends Presence {
  readonly name: string;
  readonly schema: JsonSchema;
}

/** Members of a schema that restrict what a value may be. */
const constraints = ['type', 'enum', 'const', 'anyOf', 'allOf', 'oneOf', '$ref'];

/** Finds the fields of a map through alternatives, lists and references. */
class SchemaReader {
  readonly #definitions: Readonly<Record<string, JsonSchema>>;

  constructor(definitions: Readonly<Record<string, JsonSchema>>) {
    this.#definitions = definitions;
  }

  readonly resolve = (schema: JsonSchema): JsonSchema => {
    const name = typeof schema.$ref === 'string' ? schema.$ref.split('/').at(-1)! : '';
    return this.#definitions[name] ?? schema;
  };

  /** In the usual spelling. */
  fieldsOf(schema: JsonSchema): FoundField[] {
    const found = new Map<string, FoundField>();
    for (const map of this.#mapsIn(schema)) {
      const required = (map.required ?? []) as readonly string[];
      const properties = (map.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
      const isUsual = (name: string): boolean => properties[name]?.doNotSuggest !== true;
      const groups = groupsOf(map).map((names) => names.filter(isUsual));
      for (const [name, field] of Object.entries(properties)) {
        if (!isUsual(name) || found.has(name)) continue;
        const group = groups.find((names) => names.includes(name)) ?? [];
        const isAlternative = group.length > 1;
        const isRequired = required.includes(name) || group.length === 1;
        const alternatives = isAlternative ? group : [];
        found.set(name, { name, schema: field, isRequired, alternatives });
      }
    }
    return [...found.values()];
  }

  otherSpelling(fields: readonly FoundField[], word: string): FoundField | undefined {
    return fields.find(({ name }) => toSnakeCase(name) === toSnakeCase(word));
  }

  /** A key of a map with user-defined keys, or a known one that is not usually written. */
  anyKey(schema: JsonSchema, word: string): FoundField | undefined {
    for (const { properties, additionalProperties } of this.#mapsIn(schema)) {
      const own = (properties ?? {}) as Readonly<Record<string, JsonSchema>>;
      const hidden = Object.hasOwn(own, word) ? own[word] : undefined;
      const others = typeof additionalProperties === 'object' ? additionalProperties : null;
      const found = hidden ?? (others as JsonSchema | null);
      if (found !== null) return { name: word, schema: found, isRequired: false, alternatives: [] };
    }
    return this.#takesAnything(schema)
      ? { name: word, schema: {}, isRequired: false, alternatives: [] }
      : undefined;
  }

  /** Whether a value, or an item of a list, has no schema of its own. */
  #takesAnything(given: JsonSchema): boolean {
    const schema = this.resolve(given);
    if (schema.items !== undefined) return this.#takesAnything(schema.items as JsonSchema);
    const alternatives = (schema.anyOf ?? []) as readonly JsonSchema[];
    if (alternatives.some((one) => this.#takesAnything(one))) return true;
    return !constraints.some((name) => schema[name] !== undefined);
  }

  #mapsIn(given: JsonSchema): JsonSchema[] {
    const schema = this.resolve(given);
    const alternatives = (schema.anyOf ?? []) as readonly JsonSchema[];
    const whole = ((schema.allOf ?? []) as readonly JsonSchema[]).filter(({ $ref }) => $ref);
    const items = schema.items === undefined ? [] : [schema.items as JsonSchema];
    const inside = [...alternatives, ...whole, ...items].flatMap((one) => this.#mapsIn(one));
    const isMap = schema.properties !== undefined || schema.additionalProperties !== undefined;
    return isMap ? [schema, ...inside] : inside;
  }
}

/** Sets of keys of which one is required: spellings of one field, or alternatives. */
function groupsOf({ allOf, oneOf }: JsonSchema): string[][] {
  const namesIn = (alternatives: unknown): string[] =>
    ((alternatives ?? []) as readonly JsonSchema[]).flatMap(
      ({ required }) => (required ?? []) as string[],
    );
  const spelled = ((allOf ?? []) as readonly JsonSchema[]).map(({ anyOf }) => namesIn(anyOf));
  return [...spelled, namesIn(oneOf)];
}
