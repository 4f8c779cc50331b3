/** Reads the filters of directories (RFC 7644, 3.4.2.2) as conditions on known attributes. */
import { type Compare, type Filter, filter as matcherOf, parse } from 'scim2-parse-filter';
import { didYouMean } from '../../suggest.ts';
import { Timestamp } from '../wire/timestamp.ts';
import { validationError } from '../wire/validation-error.ts';

interface ScimAttribute {
  readonly type: 'boolean' | 'dateTime' | 'string';
  /** Whether upper and lower case differ; values that ignore case are compared in lower case. */
  readonly caseExact?: boolean;
  /** The value of every resource; absent where resources differ. */
  readonly constant?: string | boolean;
  /** Whether a resource has several; a comparison then holds if it holds for one of them. */
  readonly isMultiple?: boolean;
}

/** Attributes by their whole path: `name.givenName`. */
export type ScimAttributes = Readonly<Record<string, ScimAttribute>>;

type Comparison = Compare['op'];
type Value = string | number | boolean;

/** `value` is text, in lower case unless the attribute is `caseExact`; a boolean; or milliseconds since the epoch. */
export type ScimCondition =
  | { readonly op: 'and' | 'or'; readonly conditions: readonly ScimCondition[] }
  | { readonly op: 'not'; readonly condition: ScimCondition }
  /** The condition holds for one value of the attributes that have several. */
  | { readonly op: 'some'; readonly condition: ScimCondition }
  | { readonly op: 'pr'; readonly attribute: string }
  | { readonly op: Comparison; readonly attribute: string; readonly value: Value };

const always: ScimCondition = { op: 'and', conditions: [] };
const never: ScimCondition = { op: 'or', conditions: [] };

const anyCase: ScimAttribute = { type: 'string', caseExact: false };
const exact: ScimAttribute = { type: 'string', caseExact: true };
const time: ScimAttribute = { type: 'dateTime' };

function commonAttributes(resourceType: 'User' | 'Group') {
  return {
    id: exact,
    externalId: exact,
    schemas: { ...exact, constant: `urn:ietf:params:scim:schemas:core:2.0:${resourceType}` },
    'meta.resourceType': { ...exact, constant: resourceType },
    'meta.created': time,
    'meta.lastModified': time,
  } as const satisfies ScimAttributes;
}

/** The attributes of a user by which lists are filtered. */
export const scimUserAttributes = {
  ...commonAttributes('User'),
  userName: anyCase,
  'name.givenName': exact,
  'name.familyName': exact,
  'emails.value': anyCase,
  'emails.type': { ...anyCase, constant: 'work' },
  'emails.primary': { type: 'boolean', constant: true },
  active: { type: 'boolean' },
} as const satisfies ScimAttributes;

/** The attributes of a group by which lists are filtered. */
export const scimGroupAttributes = {
  ...commonAttributes('Group'),
  displayName: exact,
  'members.value': { ...exact, isMultiple: true },
} as const satisfies ScimAttributes;

/** Attributes whose values are stored for each resource. */
export type StoredAttribute<A extends ScimAttributes> = {
  [Name in keyof A & string]: A[Name] extends { readonly constant: unknown } ? never : Name;
}[keyof A & string];

const memberAttributes: ScimAttributes = { value: exact };

const filterLengthMax = 1024;

/** @throws ApiError `invalid` for a malformed filter, an unknown attribute, or a comparison that its type has not */
export function readScimFilter(
  text: string | undefined,
  attributes: ScimAttributes,
): ScimCondition | undefined {
  if (text === undefined) return undefined;
  const parsed = parsedFilter(text);
  if (parsed === null) {
    throw refusal(
      'is not a SCIM filter; an example: externalId eq "1" and not (meta.created lt "2027-01-01T00:00:00Z")',
    );
  }
  return new FilterReader(attributes, parsed.strings).read(parsed.filter, '');
}

/** Selects the ids that a path such as `members[value eq "0197c2a5-…"]` names; null for another path. */
export function memberSelection(path: string): ((id: string) => boolean) | null {
  const condition = memberCondition(path);
  return condition === null ? null : (id) => holds(condition, id);
}

/** The id in a path such as `members[value eq "0197c2a5-…"]`; null for a path that names no single id. */
export function memberIdIn(path: string): string | null {
  const condition = memberCondition(path);
  return condition?.op === 'eq' ? String(condition.value) : null;
}

/** Ids are in lower case, so the whole path may be. */
function memberCondition(path: string): ScimCondition | null {
  const parsed = parsedFilter(path.toLowerCase());
  if (parsed?.filter.op !== '[]' || parsed.filter.attrPath !== 'members') return null;
  const reader = new FilterReader(memberAttributes, parsed.strings);
  return reader.read(parsed.filter.valFilter, '');
}

interface ParsedFilter {
  /** Each string is replaced by its index in `strings`. */
  readonly filter: Filter;
  readonly strings: readonly string[];
}

/** Null for a text that is not a filter, or too long. */
function parsedFilter(text: string): ParsedFilter | null {
  if (text.length > filterLengthMax) return null;
  const strings: string[] = [];
  try {
    // The library does not decode escapes such as `\\` and `\u0041`.
    const plain = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, (literal) => {
      strings.push(JSON.parse(literal) as string);
      return `"${strings.length - 1}"`;
    });
    return { filter: parse(plain), strings };
  } catch {
    return null;
  }
}

/** Converts the tree of the library, whose nodes may have any attribute, value and operator. */
class FilterReader {
  readonly #attributes: ScimAttributes;
  readonly #strings: readonly string[];

  constructor(attributes: ScimAttributes, strings: readonly string[]) {
    this.#attributes = attributes;
    this.#strings = strings;
  }

  /** `within` is the attribute whose brackets contain the filter, with a dot; '' for none. */
  read(filter: Filter, within: string): ScimCondition {
    switch (filter.op) {
      case 'and':
      case 'or':
        return { op: filter.op, conditions: filter.filters.map((one) => this.read(one, within)) };
      case 'not':
        return { op: 'not', condition: this.read(filter.filter, within) };
      case '[]':
        return this.#readBrackets(filter.attrPath, filter.valFilter, within);
      case 'pr':
        return this.#present(within + filter.attrPath, within);
      default:
        return this.#compared(filter, within);
    }
  }

  #readBrackets(path: string, filter: Filter, within: string): ScimCondition {
    const name = localName(path);
    const inner = this.#below(name);
    if (within !== '' || inner.length === 0) throw this.#unknown(path);
    const condition = this.read(filter, `${name}.`);
    return ofOneValue(condition, this.#attributes[inner[0]!]!, '');
  }

  /** A complex attribute is present when one of its parts is. */
  #present(path: string, within: string): ScimCondition {
    const parts = this.#below(localName(path));
    if (parts.length > 0) {
      return { op: 'or', conditions: parts.map((part) => this.#present(part, within)) };
    }
    const [attribute, facts] = this.#find(path);
    if (facts.constant !== undefined) return always;
    return ofOneValue({ op: 'pr', attribute }, facts, within);
  }

  #compared({ op, attrPath, compValue }: Compare, within: string): ScimCondition {
    if (!comparisons.has(op)) throw refusal(`has the unknown operator ${op}`);
    const [attribute, facts] = this.#find(within + attrPath);
    if (compValue === null) {
      const present = this.#present(attribute, within);
      if (op === 'ne') return present;
      if (op === 'eq') return { op: 'not', condition: present };
    }
    const given = typeof compValue === 'string' ? this.#strings[Number(compValue)]! : compValue;
    const value = valueIn(facts, given);
    if (value === null || !operatorsOf[facts.type].has(op)) {
      throw refusal(
        `compares ${attribute}, a ${facts.type}, by ${op} with ${JSON.stringify(given)}`,
      );
    }
    if (facts.constant !== undefined) return isTrue(op, facts.constant, value) ? always : never;
    return ofOneValue({ op, attribute, value }, facts, within);
  }

  /** A complex attribute stands for its `value`. */
  #find(path: string): [name: string, attribute: ScimAttribute] {
    const wanted = localName(path);
    const entry = Object.entries(this.#attributes).find(
      ([name]) => name.toLowerCase() === wanted || name.toLowerCase() === `${wanted}.value`,
    );
    if (entry === undefined) throw this.#unknown(path);
    return entry;
  }

  /** The parts of a complex attribute. */
  #below(name: string): string[] {
    return Object.keys(this.#attributes).filter((one) => one.toLowerCase().startsWith(`${name}.`));
  }

  #unknown(path: string): Error {
    const names = Object.keys(this.#attributes);
    const hint = didYouMean(path, names) ?? `use ${names.join(', ')}`;
    return refusal(`has the unknown attribute ${path}: ${hint}`);
  }
}

/** In lower case, without the name of the schema. */
function localName(path: string): string {
  return path.toLowerCase().replace(/^urn:ietf:params:scim:schemas:core:2\.0:(?:user|group):/, '');
}

/** Inside of brackets all conditions are about the same value. */
function ofOneValue(
  condition: ScimCondition,
  { isMultiple }: ScimAttribute,
  within: string,
): ScimCondition {
  return isMultiple === true && within === '' ? { op: 'some', condition } : condition;
}

const ordered: readonly Comparison[] = ['eq', 'ne', 'gt', 'ge', 'lt', 'le'];
const comparisons: ReadonlySet<string> = new Set([...ordered, 'co', 'sw', 'ew']);
const operatorsOf: Readonly<Record<ScimAttribute['type'], ReadonlySet<string>>> = {
  boolean: new Set(['eq', 'ne']),
  dateTime: new Set(ordered),
  string: comparisons,
};

/** Null for a value of another type; some directories send booleans as text. */
function valueIn({ type, caseExact }: ScimAttribute, given: Compare['compValue']): Value | null {
  if (type === 'boolean') {
    const text = String(given).toLowerCase();
    return text === 'true' ? true : text === 'false' ? false : null;
  }
  if (typeof given !== 'string') return null;
  if (type === 'string') return caseExact === true ? given : given.toLowerCase();
  const result = Timestamp.safeParse(given);
  return result.success ? Date.parse(result.data) : null;
}

/** Evaluates a condition on the attribute `value`. */
function holds(condition: ScimCondition, value: string): boolean {
  switch (condition.op) {
    case 'and':
      return condition.conditions.every((one) => holds(one, value));
    case 'or':
      return condition.conditions.some((one) => holds(one, value));
    case 'not':
      return !holds(condition.condition, value);
    case 'some':
      return holds(condition.condition, value);
    case 'pr':
      return true;
    default:
      return isTrue(condition.op, value, condition.value);
  }
}

function isTrue(op: Comparison, one: Value, other: Value): boolean {
  return matcherOf({ op, attrPath: 'one', compValue: other })({ one });
}

function refusal(message: string): Error {
  return validationError({ path: ['filter'], message });
}
