/** Converts the keys and values of a written spec to those of the API body. */
import type { KindName, ReferenceField } from '../../model/kinds/kinds.ts';
import { type Shape, shapeOf, toSnakeCase } from '../resources/spec-shape.ts';
import { SealedValue } from '../sops/sealed-value.ts';
import { isMap } from '../yaml/map-fields.ts';
import { Literals } from './literals.ts';
import { idStandIn, type Placeholders, secretStandIn } from './placeholders.ts';
import { isValueFrom, type ReadValues, readSecretField, unreachableCode } from './secrets.ts';
import { formatPath } from './spec-faults.ts';
import type { SpecReport } from './spec-report.ts';

/**
 * Walks one spec and rewrites it; faults go to the report, references and secrets to the
 * placeholders.
 */
export class BodyConversion {
  readonly #kind: KindName;
  readonly #fields: Readonly<Record<string, unknown>>;
  readonly #values: ReadValues;
  readonly #report: SpecReport;
  readonly #literals: Literals;
  readonly #placeholders: Placeholders;
  /** Paths of the current value: in the API body, and in the manifest. */
  readonly #path: string[] = [];
  readonly #written: string[] = ['spec'];

  /** @param fields that the API body may have, in the API's spelling */
  constructor(
    kind: KindName,
    fields: Readonly<Record<string, unknown>>,
    values: ReadValues,
    report: SpecReport,
    placeholders: Placeholders,
  ) {
    this.#kind = kind;
    this.#fields = fields;
    this.#values = values;
    this.#report = report;
    this.#literals = new Literals(kind, report);
    this.#placeholders = placeholders;
  }

  /**
   * Returns the body, with stand-ins for references and for unavailable secrets.
   *
   * @param except a key of the spec that is not part of the body
   */
  convert(
    spec: Readonly<Record<string, unknown>>,
    except: readonly string[] = [],
  ): Record<string, unknown> {
    return this.#object(spec, shapeOf(this.#kind), except);
  }

  #fault(code: string, message: string, fix?: string): void {
    this.#report.fault(this.#written, code, message, fix);
  }

  #object(
    raw: Readonly<Record<string, unknown>>,
    shape: Shape,
    except: readonly string[] = [],
  ): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    for (const key of Object.keys(raw)) {
      if (except.includes(key)) continue;
      const reference = shape.referenceKeys.get(key);
      const name = reference === undefined ? this.#wireKey(key, shape) : lastKey(reference);
      this.#written.push(key);
      if (key === '__proto__') {
        this.#literals.refuseProto(this.#written);
      } else if (Object.hasOwn(object, name)) {
        const message = `${formatPath(this.#written)} sets "${name}" a second time`;
        this.#fault('duplicate-field', message, 'keep one of the two');
      } else {
        this.#path.push(name);
        object[name] =
          reference === undefined
            ? this.#member(raw[key], shape.child(name))
            : this.#reference(reference, raw[key]);
        this.#path.pop();
      }
      this.#written.pop();
    }
    return object;
  }

  /** The API spells a few fields in camelCase; the schema contains those unchanged. */
  #wireKey(key: string, shape: Shape): string {
    if (shape.opaque) return key;
    const isTop = this.#path.length === 0;
    return isTop && Object.hasOwn(this.#fields, key) ? key : toSnakeCase(key);
  }

  #value(raw: unknown, shape: Shape): unknown {
    if (shape.secret && !isPartOfDocument(raw, shape)) return this.#secret(raw);
    if (raw instanceof SealedValue) {
      this.#literals.refuseSealed(this.#written);
      return undefined;
    }
    if (shape.verbatim) {
      this.#literals.check(raw, this.#written);
      return raw;
    }
    if (typeof raw !== 'object' || raw === null) {
      this.#literals.checkScalar(raw, this.#written);
      return raw;
    }
    if (isValueFrom(raw)) {
      this.#literals.refuseValueFrom(this.#written);
      return undefined;
    }
    if (shape.opaque) this.#literals.refuseStandIn(raw, this.#written);
    return Array.isArray(raw)
      ? raw.map((item: unknown, at) => this.#item(item, `${at}`, shape.child(`${at}`)))
      : this.#object(raw as Record<string, unknown>, shape);
  }

  #item(raw: unknown, index: string, shape: Shape): unknown {
    this.#path.push(index);
    this.#written.push(index);
    const item = this.#member(raw, shape);
    this.#path.pop();
    this.#written.pop();
    return item;
  }

  /** Converts a value of a list or map, which may be a map with only a reference. */
  #member(raw: unknown, shape: Shape): unknown {
    const reference = isMap(raw) ? itemReference(raw, shape) : undefined;
    if (reference === undefined) return this.#value(raw, shape);
    this.#written.push(reference.key);
    const member = this.#reference(reference.field, reference.value);
    this.#written.pop();
    return member;
  }

  #secret(raw: unknown): unknown {
    const reading = readSecretField(raw, this.#path.at(-1) ?? '', this.#values, () =>
      this.#report.fileOf(this.#written),
    );
    if (reading === undefined) return raw;
    if ('message' in reading) {
      const joint = isValueFrom(raw) ? ': ' : ' ';
      // An unreachable secret store affects every field, so it is reported once with all positions.
      const field = reading.code === unreachableCode ? '' : formatPath(this.#written) + joint;
      this.#fault(reading.code, field + reading.message, reading.fix);
      return secretStandIn;
    }
    this.#placeholders.addSecret([...this.#path], reading.secret, reading.isUnset === true);
    return reading.available ? reading.secret.reveal() : secretStandIn;
  }

  #reference(field: ReferenceField, raw: unknown): unknown {
    if (raw === null) return null;
    if (typeof raw !== 'string' || !/^[^/\s]+(\/[^/\s]+)?$/.test(raw)) {
      const message = `${formatPath(this.#written)} must be the name of a ${field.kind}`;
      this.#fault('reference', message, 'write name, or workspace/name');
    } else {
      this.#placeholders.addReference(field.kind, raw, [...this.#path], [...this.#written]);
    }
    return idStandIn;
  }
}

/** Only texts are secrets in documents: `api_key` may also be a property of a JSON Schema. */
function isPartOfDocument(raw: unknown, { opaque }: Shape): boolean {
  return opaque && typeof raw === 'object' && !(raw instanceof SealedValue) && !isValueFrom(raw);
}

/** `{guardrailRef: pii}` as a list item or map value, in lists and maps of references. */
function itemReference(
  item: Record<string, unknown>,
  shape: Shape,
): { key: string; field: ReferenceField; value: unknown } | undefined {
  if (shape.references.length === 0) return undefined;
  const [key, ...others] = Object.keys(item);
  if (key === undefined || others.length > 0) return undefined;
  const snake = toSnakeCase(key);
  const field = shape.references.find(
    ({ path, manifestField }) => path.endsWith('.*') && toSnakeCase(manifestField) === snake,
  );
  return field === undefined ? undefined : { key, field, value: item[key] };
}

function lastKey(reference: ReferenceField): string {
  return reference.path.slice(reference.path.lastIndexOf('.') + 1);
}
