/**
 * Generates values from a schema of the OpenAPI document: valid ones, and ones with a known fault
 * in one place.
 */
import fc from 'fast-check';

export type Schema = Readonly<Record<string, unknown>>;

/** A value that a schema rejects, and the path of the fault. */
export interface Wrong {
  readonly path: readonly (string | number)[];
  readonly fault: string;
  /** The replacement; undefined removes the member. */
  readonly value: unknown;
}

const depthMax = 4;
const itemsMax = 3;
const charactersMax = 60;
const extremeYears = {
  min: new Date('1970-01-01T00:00:00Z'),
  max: new Date('9999-12-31T00:00:00Z'),
};

const forms: Readonly<Record<string, fc.Arbitrary<string>>> = {
  uuid: fc.uuid(),
  'date-time': fc.date({ ...extremeYears, noInvalidDate: true }).map((date) => date.toISOString()),
  uri: fc.webUrl({ withQueryParameters: true, size: 'small' }),
  email: fc.constantFrom('a@example.com', "o'neill+tag@sub.example.org"),
};

export class DrawnValues {
  readonly #shared: Readonly<Record<string, Schema>>;
  readonly #known = new Map<Schema, fc.Arbitrary<unknown>>();

  /** `shared` are the schemas that references name. */
  constructor(shared: Readonly<Record<string, Schema>>) {
    this.#shared = shared;
  }

  resolve(schema: Schema): Schema {
    const { $ref } = schema;
    if (typeof $ref !== 'string') return schema;
    return this.resolve(this.#shared[$ref.split('/').at(-1)!]!);
  }

  /** Fields of an object, without those that accept no value. */
  fieldsOf(schema: Schema): readonly (readonly [string, Schema])[] {
    const { properties = {} } = this.resolve(schema) as { properties?: Record<string, Schema> };
    return Object.entries(properties).filter(([, one]) => !isNever(one));
  }

  /** Generates valid values. */
  right(schema: Schema, depth = 0): fc.Arbitrary<unknown> {
    const known = depth === 0 ? this.#known.get(schema) : undefined;
    const made = known ?? this.#right(this.resolve(schema), depth);
    if (depth === 0) this.#known.set(schema, made);
    return made;
  }

  #right(schema: Schema, depth: number): fc.Arbitrary<unknown> {
    if ('const' in schema) return fc.constant(schema.const);
    if (Array.isArray(schema.enum)) return fc.constantFrom(...(schema.enum as unknown[]));
    const options = optionsOf(schema);
    if (options !== null) {
      const shallow = depth < depthMax ? options : options.filter((one) => this.#isScalar(one));
      const left = shallow.length === 0 ? options.slice(0, 1) : shallow;
      return fc.oneof(...left.map((one) => this.right(one, depth + 1)));
    }
    switch (schema.type) {
      case 'string':
        return drawnText(schema);
      case 'integer':
        return fc.integer(boundsOf(schema));
      case 'number':
        return drawnNumber(schema);
      case 'boolean':
        return fc.boolean();
      case 'null':
        return fc.constant(null);
      case 'array':
        return this.#list(schema, depth);
      case 'object':
        return this.#object(schema, depth);
      default:
        return anyJson;
    }
  }

  #isScalar(schema: Schema): boolean {
    const { type } = this.resolve(schema);
    return typeof type === 'string' && type !== 'array' && type !== 'object';
  }

  #list(schema: Schema, depth: number): fc.Arbitrary<unknown> {
    const { items = {}, minItems = 0, maxItems = itemsMax } = schema as ListSchema;
    const isDeep = depth >= depthMax;
    const maxLength = isDeep ? minItems : Math.max(minItems, Math.min(maxItems, itemsMax));
    return fc.array(this.right(items, depth + 1), { minLength: minItems, maxLength });
  }

  #object(schema: Schema, depth: number): fc.Arbitrary<unknown> {
    const { required = [], additionalProperties, propertyNames } = schema as ObjectSchema;
    const isDeep = depth >= depthMax;
    const fields = this.fieldsOf(schema).filter(([name]) => !isDeep || required.includes(name));
    const known = fc.record(
      Object.fromEntries(fields.map(([name, one]) => [name, this.right(one, depth + 1)])),
      { requiredKeys: [...required] },
    );
    if (typeof additionalProperties !== 'object' || fields.length > 0 || isDeep) return known;
    const names =
      propertyNames === undefined ? fc.string({ minLength: 1 }) : this.right(propertyNames);
    const values = this.right(additionalProperties, depth + 1);
    return fc.dictionary(names as fc.Arbitrary<string>, values, { maxKeys: itemsMax });
  }

  /** Faults for every place that is reached without alternatives. */
  wrongs(schema: Schema, path: Wrong['path'] = []): Wrong[] {
    const resolved = this.resolve(schema);
    const own = path.length === 0 ? [] : wrongsAt(resolved, path);
    const only = onlyOption(resolved);
    if (only === null || path.length >= depthMax) return own;
    const inner = this.resolve(only);
    if (inner.type === 'array') {
      const { items = {}, maxItems } = inner as ListSchema;
      return maxItems === 0 ? own : [...own, ...this.wrongs(items, [...path, 0])];
    }
    if (inner.type !== 'object') return own;
    const { required = [], additionalProperties } = inner as ObjectSchema;
    return [
      ...own,
      ...required.map((name) => ({ path: [...path, name], fault: 'left out', value: undefined })),
      ...(additionalProperties === false
        ? [{ path: [...path, 'unheard_of'], fault: 'unknown', value: 1 }]
        : []),
      ...this.fieldsOf(inner).flatMap(([name, one]) => this.wrongs(one, [...path, name])),
    ];
  }
}

interface ListSchema {
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
}

interface ObjectSchema {
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly propertyNames?: Schema;
}

const isNever = ({ not }: Schema): boolean =>
  typeof not === 'object' && not !== null && Object.keys(not).length === 0;

/** Null when a schema has no alternatives. */
function optionsOf(schema: Schema): readonly Schema[] | null {
  const { anyOf, oneOf, type } = schema;
  if (Array.isArray(type)) return type.map((one: unknown) => ({ ...schema, type: one }));
  const options = (anyOf ?? oneOf) as readonly Schema[] | undefined;
  return options?.filter((one) => !isNever(one)) ?? null;
}

/** The only alternative beside null; null when there are several. */
function onlyOption(schema: Schema): Schema | null {
  const options = optionsOf(schema)?.filter(({ type }) => type !== 'null');
  if (options === undefined) return schema;
  return options.length === 1 ? onlyOption(options[0]!) : null;
}

const anyJson = fc
  .jsonValue({ maxDepth: 2 })
  .filter((value) => !JSON.stringify(value).includes('"__proto__"'))
  .map((value) => (Object.is(value, -0) ? 0 : value));

const patterned = new Map<string, fc.Arbitrary<string>>();

function drawnText({ format, pattern, minLength = 0, maxLength }: Schema) {
  const form = forms[String(format)];
  if (form !== undefined) return form;
  const min = Number(minLength);
  if (typeof pattern !== 'string') {
    const max = Math.min(Number(maxLength ?? charactersMax), min + charactersMax);
    return fc.oneof(
      fc.string({ minLength: min, maxLength: max }),
      fc.string({ minLength: min, maxLength: max, unit: 'binary' }),
    );
  }
  const known = patterned.get(pattern) ?? matching(pattern);
  patterned.set(pattern, known);
  // A pattern alone may require more characters than texts without one are given.
  const max = Number(maxLength ?? Number.POSITIVE_INFINITY);
  return known.filter((text) => [...text].length >= min && [...text].length <= max);
}

/** Lookaheads are replaced by what they accept. */
function matching(pattern: string): fc.Arbitrary<string> {
  const expression = new RegExp(pattern, 'u');
  return fc
    .stringMatching(new RegExp(pattern.replaceAll(/\(\?!.*?\)\$?\)/g, ''), 'u'), { size: 'small' })
    .filter((text) => expression.test(text));
}

function boundsOf({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Schema) {
  const low = (exclusiveMinimum as number | undefined) ?? Number.NaN;
  const high = (exclusiveMaximum as number | undefined) ?? Number.NaN;
  const min = Number.isNaN(low) ? ((minimum as number | undefined) ?? -1000) : low + 1;
  const max = Number.isNaN(high) ? ((maximum as number | undefined) ?? min + 1000) : high - 1;
  return { min: Math.max(min, -(2 ** 31)), max: Math.min(max, 2 ** 31 - 1) };
}

/** With two decimals. */
function drawnNumber(schema: Schema): fc.Arbitrary<number> {
  const { min, max } = boundsOf(schema);
  const cents = fc.integer({ min: Math.ceil(min * 100), max: Math.min(max * 100, 2 ** 31 - 1) });
  return cents.map((hundredths) => hundredths / 100);
}

const samples: Readonly<Record<string, unknown>> = {
  string: 'text',
  number: 0.5,
  boolean: true,
  object: { a: {} },
  array: [[]],
};

/**
 * For a value with one type, faults for each keyword of its schema; otherwise a value that no
 * alternative accepts.
 */
function wrongsAt(schema: Schema, path: Wrong['path']): Wrong[] {
  const types = typesOf(schema);
  if (types === null) return [];
  const wrong = (fault: string, value: unknown): Wrong => ({ path, fault, value });
  const taken = (type: string) => types.has(type) || (type === 'number' && types.has('integer'));
  const others = Object.entries(samples)
    .filter(([type]) => !taken(type))
    .map(([type, value]) => wrong(`a ${type}`, value));
  const nothing = types.has('null') ? [] : [wrong('null', null)];
  const only = onlyOption(schema);
  return [...others, ...nothing, ...(only === null ? [] : beyondBounds(only, wrong))];
}

function beyondBounds(schema: Schema, wrong: (fault: string, value: unknown) => Wrong): Wrong[] {
  const { minimum, maximum, minLength, maxLength, minItems, enum: words, pattern } = schema;
  const found: Wrong[] = [];
  const add = (fault: string, value: unknown) => found.push(wrong(fault, value));
  if (typeof minimum === 'number' && minimum > -(2 ** 53)) add('too small', minimum - 1);
  if (typeof maximum === 'number' && maximum < 2 ** 52) add('too large', maximum + 1);
  if (typeof maxLength === 'number') add('too long', 'a'.repeat(maxLength + 1));
  if (Number(minLength) > 0) add('too short', '');
  if (Number(minItems) > 0) add('too few', []);
  if (Array.isArray(words)) add('another word', 'unheard_of');
  if (typeof pattern === 'string' && !new RegExp(pattern, 'u').test(' \n')) add('malformed', ' \n');
  if (schema.type === 'integer') add('no whole number', 0.5);
  return found;
}

/** Null when any type is accepted. */
function typesOf(schema: Schema): ReadonlySet<string> | null {
  const options = optionsOf(schema);
  if (options !== null) {
    const each = options.map(typesOf);
    return each.includes(null) ? null : new Set(each.flatMap((types) => [...types!]));
  }
  const words = 'const' in schema ? [schema.const] : (schema.enum as unknown[] | undefined);
  if (words !== undefined) {
    return new Set(words.map((word) => (word === null ? 'null' : typeof word)));
  }
  return typeof schema.type === 'string' ? new Set([schema.type]) : null;
}

/** A copy of `body` with the value at its path; missing parents are created. */
export function withWrong(body: unknown, { path: [key, ...rest], value }: Wrong): unknown {
  const next = (held: unknown) =>
    rest.length === 0 ? value : withWrong(held, { path: rest, value, fault: '' });
  if (typeof key === 'number') {
    const list = Array.isArray(body) && body.length > 0 ? body : [undefined];
    return list.with(key, next(list[key]));
  }
  const map = typeof body === 'object' && body !== null && !Array.isArray(body) ? body : {};
  return { ...map, [key!]: next((map as Record<string, unknown>)[key!]) };
}
