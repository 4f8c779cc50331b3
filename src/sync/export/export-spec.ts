/** Converts a live spec to manifest form: spelling, references by name, stubs for secrets. */
import { type KindName, kinds, type ReferenceField } from '../../model/kinds/kinds.ts';
import { matchesPattern } from '../../model/manifests/path-patterns.ts';
import {
  type Identity,
  identityKey,
  type LiveResource,
  type Spec,
  type SpecJson,
} from '../resources/resource-set.ts';
import { originForm } from '../resources/secret-target.ts';
import { isPlainObject, isReference, isSecret, type PlainObject } from '../resources/spec-paths.ts';
import { type Shape, shapeOf, toCamelCase, toSnakeCase } from '../resources/spec-shape.ts';
import { plainOrigin } from '../validation/secrets.ts';
import type { ExportNames } from './export-names.ts';

/** Writes the spec of one resource; `identity` is the one in its manifest. */
export class SpecWriter {
  readonly #names: ExportNames;
  readonly #identity: Identity;
  readonly #stubs: string[];
  readonly #variables = new Set<string>();

  /** @param stubs collects the paths of values that no server returns */
  constructor(names: ExportNames, identity: Identity, stubs: string[]) {
    this.#names = names;
    this.#identity = identity;
    this.#stubs = stubs;
  }

  /**
   * Writes the fields that the owner declared, with live values; for an unmanaged resource all
   * fields.
   */
  write({ spec, base }: LiveResource, isOurs: boolean): PlainObject {
    const declared = isOurs ? sparse(spec, base ?? {}, this.#identity.kind) : spec;
    return this.#fields(withoutImplied(declared, this.#identity), shapeOf(this.#identity.kind), []);
  }

  #fields(object: PlainObject, shape: Shape, path: string[]): PlainObject {
    const fields: PlainObject = {};
    for (const [key, value] of Object.entries(object)) {
      const place = [...path, key];
      const reference = isReference(value) ? this.#reference(value.$ref, place) : null;
      if (reference === null) {
        fields[shape.opaque ? key : spelling(key)] = this.#value(value, shape.child(key), place);
      } else if (reference.field.path.endsWith('.*')) {
        fields[key] = { [reference.field.manifestField]: reference.text };
      } else if (reference.field.manifestField !== '') {
        fields[reference.field.manifestField] = reference.text;
      }
    }
    return fields;
  }

  #value(value: SpecJson, shape: Shape, path: string[]): SpecJson {
    if (isSecret(value)) {
      const { $secret: origin } = value;
      return origin.startsWith(plainOrigin)
        ? origin.slice(plainOrigin.length)
        : this.#stub(origin, path);
    }
    if (isReference(value)) {
      const { field, text } = this.#reference(value.$ref, path);
      return { [field.manifestField]: text };
    }
    if (Array.isArray(value)) {
      return value.map((item, at) => this.#value(item, shape.child(`${at}`), [...path, `${at}`]));
    }
    return isPlainObject(value) ? this.#fields(value, shape, path) : value;
  }

  /** Returns `name`, or `workspace/name` where the name alone is ambiguous. */
  #reference(key: string, path: readonly string[]): { field: ReferenceField; text: string } {
    const target = this.#names.find(key)!;
    const { kind, workspace, name } = this.#names.nameOf(target);
    const field = kinds[this.#identity.kind].references.find(
      (candidate) => candidate.kind === kind && matchesPattern(candidate.path, path),
    )!;
    const isNear = workspace === null || workspace === this.#identity.workspace;
    return { field, text: isNear ? name : `${workspace}/${name}` };
  }

  /** No server returns a secret; at best its origin is recorded. */
  #stub(origin: string, path: readonly string[]): SpecJson {
    const from = originForm(origin);
    const invented = from === null ? this.#variable(path) : '';
    const stub = from === null ? `env ${invented}` : origin.replace(':', ' ');
    this.#stubs.push(`${identityKey(this.#identity)} ${path.join('.')}: ${stub}`);
    return { valueFrom: { ...(from ?? { env: invented }), optional: true } };
  }

  /** Names a variable for one value; two values of one resource never share a name. */
  #variable(path: readonly string[]): string {
    // Has the prefix that manifests may read without permission.
    const nameOf = (keys: readonly string[]): string =>
      ['GW_VAR', this.#identity.name, ...keys].join('_').toUpperCase().replace(/\W+/g, '_');
    const isInList = path.some((key) => /^\d+$/.test(key));
    const short = nameOf(path.slice(-1));
    const variable = isInList || this.#variables.has(short) ? nameOf(path.slice(1)) : short;
    this.#variables.add(variable);
    return variable;
  }
}

/** Keeps the live values of declared fields and drops those that the server filled in. */
function sparse(live: Spec, base: Spec, kind: KindName): Spec {
  const { opaque } = kinds[kind];
  const pick = (value: SpecJson, before: SpecJson, path: readonly string[]): SpecJson => {
    // The base records the origin of a secret.
    if (isSecret(value) && isSecret(before)) return known(value, before);
    const isWhole = opaque.some((pattern) => matchesPattern(pattern, path));
    if (isWhole) return origins(value, before);
    if (Array.isArray(value) && Array.isArray(before) && value.length === before.length) {
      return value.map((item, at) => pick(item, before[at]!, [...path, `${at}`]));
    }
    if (!isPlainObject(value) || !isPlainObject(before) || isReference(value)) return value;
    return Object.fromEntries(
      Object.keys(before)
        .filter((key) => value[key] !== undefined)
        .map((key) => [key, pick(value[key]!, before[key]!, [...path, key])]),
    );
  };
  return pick(live, base, []) as Spec;
}

/** Puts the declared origins of secrets into a document, wherever both sides have one. */
function origins(value: SpecJson, before: SpecJson | undefined): SpecJson {
  if (isSecret(value)) return isSecret(before) ? known(value, before) : value;
  if (Array.isArray(value)) {
    return value.map((item, at) => origins(item, Array.isArray(before) ? before[at] : undefined));
  }
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      origins(item, isPlainObject(before) ? before[key] : undefined),
    ]),
  );
}

/**
 * Returns the declared origin, unless it was text and the server has another text now, which it
 * does not return.
 */
function known(
  value: PlainObject & FingerprintedSecret,
  before: PlainObject & FingerprintedSecret,
): SpecJson {
  const isPlain = before.$secret.startsWith(plainOrigin);
  return isPlain && value.fingerprint !== before.fingerprint ? value : before;
}

interface FingerprintedSecret {
  readonly $secret: string;
  readonly fingerprint: string;
}

/** Leaves out fields that the envelope implies. */
function withoutImplied(spec: Spec, identity: Identity): Spec {
  const implied: Spec = {
    name: identity.name,
    ...(identity.kind === 'ApiKey'
      ? { type: identity.workspace === null ? 'organisation' : 'workspace', sub_type: 'service' }
      : {}),
  };
  return Object.fromEntries(
    Object.entries(spec).filter(([key, value]) => key !== 'workspace_id' && implied[key] !== value),
  );
}

/** Returns camelCase, the spelling of manifests, where the conversion is reversible. */
function spelling(key: string): string {
  const camel = toCamelCase(key);
  return toSnakeCase(camel) === key ? camel : key;
}
