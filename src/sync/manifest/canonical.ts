/** Knows how a spec as written becomes the API's own body: spelling, types, references and secrets. */
import type { z } from 'zod';
import { type KindName, kinds, type ReferenceField } from '../../model/kinds.ts';
import { Secret } from '../../secret.ts';
import type { Fault } from '../source/source-files.ts';
import type { DesiredResource, Json, Spec } from '../spec/resource-set.ts';
import { pointerOf } from '../spec/spec-paths.ts';
import { type Shape, shapeOf, toSnakeCase } from '../spec/spec-shape.ts';
import { isMap, type Manifest } from './manifest.ts';
import { readSecretTarget } from './secret-target.ts';
import {
  isCredentialName,
  isValueFrom,
  looksLikeCredential,
  readValueFrom,
  type SecretSources,
} from './secrets.ts';
import { issueFaults, spelled, writtenPath } from './spec-faults.ts';
import { placeKey, toScalar } from './substitute.ts';
import type { Segments } from './yaml-position.ts';

/** A reference as written, not yet known to lead anywhere. */
export interface PendingReference {
  readonly kind: KindName;
  /** `name` or `workspace/name`. */
  readonly text: string;
  /** Where it stands in the manifest. */
  readonly written: Segments;
  /** Puts the resolved `$ref` into the spec. */
  readonly resolve: (reference: string) => void;
}

export interface Canonical {
  /** References stand in it as `{"$ref": ""}` until resolved. */
  readonly spec: Spec;
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly references: readonly PendingReference[];
  readonly secretOutput: DesiredResource['secretOutput'];
}

/**
 * Converts and checks one spec.
 *
 * @param schema what the converted spec must parse to
 * @returns undefined when `report` was told of a fault that leaves no usable spec
 */
export function canonicalise(
  kind: KindName,
  schema: z.ZodObject,
  manifest: Manifest,
  sources: SecretSources,
  report: (fault: Fault) => void,
): Canonical | undefined {
  return new Conversion(kind, schema, manifest, sources, report).run();
}

/** Stands for an id that is not known yet while the schema is asked. */
const standIn = '00000000-0000-4000-8000-000000000000';
const secretStandIn = 'secret';

class Conversion {
  readonly #kind: KindName;
  readonly #schema: z.ZodObject;
  readonly #manifest: Manifest;
  readonly #sources: SecretSources;
  readonly #report: (fault: Fault) => void;
  readonly #secrets = new Map<string, Secret>();
  readonly #references: PendingReference[] = [];
  /** What takes the place of the stand-ins once the schema has agreed. */
  readonly #placeholders: { path: Segments; value: { [key: string]: Json } }[] = [];
  /** Places in the manifest already reported, which the schema need not complain about again. */
  readonly #reported: string[] = [];
  /** Keys that lead to the value at hand: in the API's body, and in the manifest. */
  readonly #path: string[] = [];
  readonly #written: string[] = ['spec'];
  #faulty = false;

  constructor(
    kind: KindName,
    schema: z.ZodObject,
    manifest: Manifest,
    sources: SecretSources,
    report: (fault: Fault) => void,
  ) {
    this.#kind = kind;
    this.#schema = schema;
    this.#manifest = manifest;
    this.#sources = sources;
    this.#report = report;
  }

  run(): Canonical | undefined {
    const raw = { ...this.#manifest.spec };
    const secretOutput = this.#takeSecretOutput(raw);
    const body = this.#object(raw, shapeOf(this.#kind));
    this.#complete(body);
    const spec = this.#parse(body);
    if (spec === undefined || this.#faulty) return undefined;
    for (const { path, value } of this.#placeholders) put(spec, path, value);
    return { spec, secrets: this.#secrets, references: this.#references, secretOutput };
  }

  #fault(written: Segments, code: string, message: string, fix?: string): void {
    this.#faulty = true;
    this.#reported.push(pointerOf(written));
    this.#report(this.#manifest.place.fault(written, code, message, fix));
  }

  #takeSecretOutput(raw: Record<string, unknown>): DesiredResource['secretOutput'] {
    const key = ['secretOutput', 'secret_output'].find((name) => name in raw);
    if (this.#kind !== 'ApiKey' || key === undefined) return null;
    delete raw[key];
    return readSecretTarget(this.#manifest, key, (fault) => {
      this.#faulty = true;
      this.#report(fault);
    });
  }

  /** Adds what the envelope says: the name, the workspace, and the type of a key that it implies. */
  #complete(body: Record<string, unknown>): void {
    const { name, workspace } = this.#manifest;
    const { shape } = this.#schema;
    if ('name' in shape) body.name ??= name;
    if (this.#kind === 'ApiKey') {
      body.type ??= workspace === null ? 'organisation' : 'workspace';
      body.sub_type ??= 'service';
    }
    if (!('workspace_id' in shape)) return;
    if (body.workspace_id !== undefined) {
      const key = 'workspaceId' in this.#manifest.spec ? 'workspaceId' : 'workspace_id';
      const fix = 'set metadata.workspace instead';
      this.#fault(['spec', key], 'workspace', 'the workspace is not part of the spec', fix);
    } else if (workspace !== null) {
      this.#refer('Workspace', workspace, ['workspace_id'], ['metadata', 'workspace']);
      body.workspace_id = standIn;
    }
  }

  #parse(body: Record<string, unknown>): Spec | undefined {
    let result = this.#schema.safeParse(body);
    if (!result.success && this.#retype(body, result.error.issues)) {
      result = this.#schema.safeParse(body);
    }
    if (result.success) return result.data as Spec;
    const issues = result.error.issues.filter(({ path }) => {
      const pointer = `${pointerOf(writtenPath(this.#manifest.spec, path.map(String)))}/`;
      return !this.#reported.some((reported) => pointer.startsWith(`${reported}/`));
    });
    this.#faulty = true;
    const asked = { schema: this.#schema, body };
    issueFaults(this.#kind, this.#manifest, asked, issues).forEach(this.#report);
    return undefined;
  }

  /** Text that came whole from a variable takes the type that the schema asks for. */
  #retype(body: Record<string, unknown>, issues: readonly { path: PropertyKey[] }[]): boolean {
    if (this.#manifest.wholeVariables.size === 0) return false;
    let changed = false;
    for (const { path } of issues) {
      const segments = path.map(String);
      const value = get(body, segments);
      const written = placeKey(writtenPath(this.#manifest.spec, segments));
      if (typeof value !== 'string' || !this.#manifest.wholeVariables.has(written)) continue;
      const scalar = toScalar(value);
      changed ||= scalar !== value;
      put(body, segments, scalar);
    }
    return changed;
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
        this.#fault(this.#written, 'duplicate-field', message, 'keep one of the two');
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
    this.#fault(this.#written, 'unknown-field', 'the key __proto__ is not allowed');
  }

  #refuseValueFrom(): void {
    const places = kinds[this.#kind].secrets.map((path) => `spec.${path}`);
    const fix =
      places.length === 0
        ? `a ${this.#kind} has no secret fields`
        : `secret fields of a ${this.#kind} are ${places.join(', ')}`;
    const message = `${spelled(this.#written)} is no secret field`;
    this.#fault(this.#written, 'value-from', message, fix);
  }

  #checkScalar(value: unknown): void {
    if (typeof value === 'string') {
      if (!looksLikeCredential(value)) return;
      const message = `${spelled(this.#written)} holds what looks like a credential`;
      this.#fault(this.#written, 'secret-literal', message, 'keep credentials out of the source');
    } else if (typeof value === 'number') {
      const wrong = numberFault(value);
      if (wrong === undefined) return;
      const message = `${spelled(this.#written)} ${wrong}`;
      this.#fault(this.#written, 'number', message, 'put it in quotes if it is text');
    }
  }

  #secret(raw: unknown): unknown {
    if (isValueFrom(raw)) {
      const reading = readValueFrom(raw, this.#sources);
      if ('message' in reading) {
        const message = `${spelled(this.#written)}: ${reading.message}`;
        this.#fault(this.#written, reading.code, message, reading.fix);
        return secretStandIn;
      }
      this.#keepSecret(reading.secret);
      return reading.available ? reading.secret.reveal() : secretStandIn;
    }
    if (typeof raw !== 'string') return raw;
    const header = this.#path.at(-1) ?? '';
    if (isCredentialName(header) || looksLikeCredential(raw)) {
      const message = `${spelled(this.#written)} must not stand in the source as text`;
      const fix = 'write {valueFrom: {env: NAME}}';
      this.#fault(this.#written, 'secret-literal', message, fix);
      return secretStandIn;
    }
    this.#keepSecret(new Secret(raw, 'manifest'));
    return raw;
  }

  #keepSecret(secret: Secret): void {
    const path = [...this.#path];
    this.#secrets.set(pointerOf(path), secret);
    this.#placeholders.push({ path, value: { $secret: secret.origin, fingerprint: '' } });
  }

  #reference(field: ReferenceField, raw: unknown): unknown {
    if (raw === null) return null;
    if (typeof raw !== 'string' || !/^[^/\s]+(\/[^/\s]+)?$/.test(raw)) {
      const message = `${spelled(this.#written)} must be the name of a ${field.kind}`;
      this.#fault(this.#written, 'reference', message, 'write name, or workspace/name');
    } else {
      this.#refer(field.kind, raw, [...this.#path], [...this.#written]);
    }
    return standIn;
  }

  #refer(kind: KindName, text: string, path: Segments, written: Segments): void {
    const value = { $ref: '' };
    const resolve = (reference: string): void => {
      value.$ref = reference;
    };
    this.#placeholders.push({ path, value });
    this.#references.push({ kind, text, written, resolve });
  }
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

function get(holder: unknown, path: Segments): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<string, unknown>)?.[key], holder);
}

function put(holder: Record<string, unknown>, path: Segments, value: unknown): void {
  const parent = get(holder, path.slice(0, -1)) as Record<string, unknown>;
  const key = path.at(-1);
  if (key !== undefined) parent[key] = value;
}
