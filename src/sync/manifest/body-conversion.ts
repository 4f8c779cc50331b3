/** Knows how the keys and values of a spec as written become those of the API's body. */
import type { z } from 'zod';
import { type KindName, kinds, type ReferenceField } from '../../model/kinds.ts';
import { type Shape, shapeOf, toSnakeCase } from '../spec/spec-shape.ts';
import { isMap } from './map-fields.ts';
import { idStandIn, type Placeholders, secretStandIn } from './placeholders.ts';
import {
  isValueFrom,
  looksLikeCredential,
  readSecretField,
  type SecretSources,
} from './secrets.ts';
import { spelled } from './spec-faults.ts';
import type { SpecReport } from './spec-report.ts';

/** Walks one spec and rewrites it; what it finds on the way goes to the report and the placeholders. */
export class BodyConversion {
  readonly #kind: KindName;
  readonly #schema: z.ZodObject;
  readonly #sources: SecretSources;
  readonly #report: SpecReport;
  readonly #placeholders: Placeholders;
  /** Keys that lead to the value at hand: in the API's body, and in the manifest. */
  readonly #path: string[] = [];
  readonly #written: string[] = ['spec'];

  constructor(
    kind: KindName,
    schema: z.ZodObject,
    sources: SecretSources,
    report: SpecReport,
    placeholders: Placeholders,
  ) {
    this.#kind = kind;
    this.#schema = schema;
    this.#sources = sources;
    this.#report = report;
    this.#placeholders = placeholders;
  }

  /** The body, with stand-ins for references and for secrets that are not at hand. */
  convert(spec: Record<string, unknown>): Record<string, unknown> {
    return this.#object(spec, shapeOf(this.#kind));
  }

  #fault(code: string, message: string, fix?: string): void {
    this.#report.fault(this.#written, code, message, fix);
  }

  #object(raw: Record<string, unknown>, shape: Shape): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    for (const key of Object.keys(raw)) {
      const reference = shape.opaque ? undefined : shape.referenceKeys.get(key);
      const name = reference === undefined ? this.#wireKey(key, shape) : lastKey(reference);
      this.#written.push(key);
      if (key === '__proto__') {
        this.#refuseProto();
      } else if (Object.hasOwn(object, name)) {
        const message = `${spelled(this.#written)} gives "${name}" a second time`;
        this.#fault('duplicate-field', message, 'keep one of the two');
      } else {
        this.#path.push(name);
        object[name] =
          reference === undefined
            ? this.#value(raw[key], shape.child(name))
            : this.#reference(reference, raw[key]);
        this.#path.pop();
      }
      this.#written.pop();
    }
    return object;
  }

  /** The API writes a few fields of its own in camelCase; those are found in the schema as they are. */
  #wireKey(key: string, shape: Shape): string {
    if (shape.opaque) return key;
    const isTop = this.#path.length === 0;
    return isTop && Object.hasOwn(this.#schema.shape, key) ? key : toSnakeCase(key);
  }

  #value(raw: unknown, shape: Shape): unknown {
    if (shape.secret) return this.#secret(raw);
    if (shape.verbatim) {
      this.#checkVerbatim(raw);
      return raw;
    }
    if (typeof raw !== 'object' || raw === null) {
      this.#checkScalar(raw);
      return raw;
    }
    if (isValueFrom(raw)) {
      this.#refuseValueFrom();
      return undefined;
    }
    return Array.isArray(raw)
      ? raw.map((item: unknown, at) => this.#item(item, `${at}`, shape.child(`${at}`)))
      : this.#object(raw as Record<string, unknown>, shape);
  }

  #item(raw: unknown, index: string, shape: Shape): unknown {
    this.#path.push(index);
    this.#written.push(index);
    const reference = isMap(raw) ? itemReference(raw, shape) : undefined;
    let item: unknown;
    if (reference === undefined) {
      item = this.#value(raw, shape);
    } else {
      this.#written.push(reference.key);
      item = this.#reference(reference.field, reference.value);
      this.#written.pop();
    }
    this.#path.pop();
    this.#written.pop();
    return item;
  }

  #checkVerbatim(raw: unknown): void {
    if (typeof raw !== 'object' || raw === null) {
      this.#checkScalar(raw);
    } else if (isValueFrom(raw)) {
      this.#refuseValueFrom();
    } else {
      for (const key of Object.keys(raw)) {
        this.#written.push(key);
        if (key === '__proto__') this.#refuseProto();
        this.#checkVerbatim((raw as Record<string, unknown>)[key]);
        this.#written.pop();
      }
    }
  }

  #refuseProto(): void {
    this.#fault('unknown-field', 'the key __proto__ is not allowed');
  }

  #refuseValueFrom(): void {
    const message = `${spelled(this.#written)} is no secret field`;
    this.#fault('value-from', message, secretFieldsOf(this.#kind));
  }

  #checkScalar(value: unknown): void {
    const wrong = literalFault(value);
    if (wrong === undefined) return;
    this.#fault(wrong.code, `${spelled(this.#written)} ${wrong.message}`, wrong.fix);
  }

  #secret(raw: unknown): unknown {
    const reading = readSecretField(raw, this.#path.at(-1) ?? '', this.#sources);
    if (reading === undefined) return raw;
    if ('message' in reading) {
      const joint = isValueFrom(raw) ? ': ' : ' ';
      this.#fault(reading.code, spelled(this.#written) + joint + reading.message, reading.fix);
      return secretStandIn;
    }
    this.#placeholders.addSecret([...this.#path], reading.secret);
    return reading.available ? reading.secret.reveal() : secretStandIn;
  }

  #reference(field: ReferenceField, raw: unknown): unknown {
    if (raw === null) return null;
    if (typeof raw !== 'string' || !/^[^/\s]+(\/[^/\s]+)?$/.test(raw)) {
      const message = `${spelled(this.#written)} must be the name of a ${field.kind}`;
      this.#fault('reference', message, 'write name, or workspace/name');
    } else {
      this.#placeholders.addReference(field.kind, raw, [...this.#path], [...this.#written]);
    }
    return idStandIn;
  }
}

function secretFieldsOf(kind: KindName): string {
  const places = kinds[kind].secrets.map((path) => `spec.${path}`);
  return places.length === 0
    ? `a ${kind} has no secret fields`
    : `secret fields of a ${kind} are ${places.join(', ')}`;
}

/** What makes a plain value one that must not stand in a source as it is. */
function literalFault(value: unknown): { code: string; message: string; fix: string } | undefined {
  if (typeof value === 'string') {
    if (!looksLikeCredential(value)) return undefined;
    const message = 'holds what looks like a credential';
    return { code: 'secret-literal', message, fix: 'keep credentials out of the source' };
  }
  const message = typeof value === 'number' ? numberFault(value) : undefined;
  return message === undefined
    ? undefined
    : { code: 'number', message, fix: 'put it in quotes if it is text' };
}

/** What makes a number of YAML one that JSON or a program cannot hold as written. */
function numberFault(value: number): string | undefined {
  if (!Number.isFinite(value)) return 'must be a finite number';
  const isExact = !Number.isInteger(value) || Number.isSafeInteger(value);
  return isExact ? undefined : 'is too large to be read exactly';
}

/** `{guardrailRef: pii}` as an item of a list whose items are references. */
function itemReference(
  item: Record<string, unknown>,
  shape: Shape,
): { key: string; field: ReferenceField; value: unknown } | undefined {
  if (shape.references.length === 0) return undefined;
  const [key, ...others] = Object.keys(item);
  if (key === undefined || others.length > 0) return undefined;
  const snake = toSnakeCase(key);
  const field = shape.references.find(({ manifestField }) => toSnakeCase(manifestField) === snake);
  return field === undefined ? undefined : { key, field, value: item[key] };
}

function lastKey(reference: ReferenceField): string {
  return reference.path.slice(reference.path.lastIndexOf('.') + 1);
}
