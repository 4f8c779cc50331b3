/** Knows how a spec as written becomes the API's own body: spelling, types, references and secrets. */
import { type KindName, kinds, type ReferenceField } from '../model/kinds.ts';
import { Secret } from '../secret.ts';
import { isMap, type Manifest } from './manifest.ts';
import type { DesiredResource, Json, Spec } from './resource-set.ts';
import { readSecretTarget } from './secret-target.ts';
import {
  isCredentialName,
  isValueFrom,
  looksLikeCredential,
  readValueFrom,
  type SecretSources,
} from './secrets.ts';
import type { Fault } from './source-files.ts';
import { issueFaults, spelled, writtenPath } from './spec-faults.ts';
import { pointerOf } from './spec-paths.ts';
import { type Shape, shapeOf, toSnakeCase } from './spec-shape.ts';
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
 * @returns undefined when `report` was told of a fault that leaves no usable spec
 */
export function canonicalise(
  kind: KindName,
  manifest: Manifest,
  sources: SecretSources,
  report: (fault: Fault) => void,
): Canonical | undefined {
  return new Conversion(kind, manifest, sources, report).run();
}

/** Stands for an id that is not known yet while the schema is asked. */
const standIn = '00000000-0000-4000-8000-000000000000';
const secretStandIn = 'secret';

class Conversion {
  readonly #kind: KindName;
  readonly #manifest: Manifest;
  readonly #sources: SecretSources;
  readonly #report: (fault: Fault) => void;
  readonly #secrets = new Map<string, Secret>();
  readonly #references: PendingReference[] = [];
  /** What takes the place of the stand-ins once the schema has agreed. */
  readonly #placeholders: { path: Segments; value: { [key: string]: Json } }[] = [];
  /** Places in the manifest already reported, which the schema need not complain about again. */
  readonly #reported: string[] = [];
  #faulty = false;

  constructor(
    kind: KindName,
    manifest: Manifest,
    sources: SecretSources,
    report: (fault: Fault) => void,
  ) {
    this.#kind = kind;
    this.#manifest = manifest;
    this.#sources = sources;
    this.#report = report;
  }

  run(): Canonical | undefined {
    const raw = { ...this.#manifest.spec };
    const secretOutput = this.#takeSecretOutput(raw);
    const body = this.#object(raw, shapeOf(this.#kind), [], ['spec']);
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
    const { shape } = kinds[this.#kind].body;
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
    const { body: schema } = kinds[this.#kind];
    let result = schema.safeParse(body);
    if (!result.success && this.#retype(body, result.error.issues)) result = schema.safeParse(body);
    if (result.success) return result.data as Spec;
    const issues = result.error.issues.filter(({ path }) => {
      const pointer = `${pointerOf(writtenPath(this.#manifest.spec, path.map(String)))}/`;
      return !this.#reported.some((reported) => pointer.startsWith(`${reported}/`));
    });
    this.#faulty = true;
    issueFaults(this.#kind, this.#manifest, body, issues).forEach(this.#report);
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

  #object(
    raw: Record<string, unknown>,
    shape: Shape,
    path: Segments,
    written: Segments,
  ): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    for (const key of Object.keys(raw)) {
      const value = raw[key];
      const place = [...written, key];
      const reference = shape.opaque ? undefined : shape.referenceKeys.get(key);
      const name = reference === undefined ? this.#wireKey(key, shape, path) : lastKey(reference);
      if (key === '__proto__') {
        this.#refuseProto(place);
      } else if (Object.hasOwn(object, name)) {
        const message = `${spelled(place)} gives "${name}" a second time`;
        this.#fault(place, 'duplicate-field', message, 'keep one of the two');
      } else if (reference !== undefined) {
        object[name] = this.#reference(reference, value, [...path, name], place);
      } else {
        object[name] = this.#value(value, shape.child(name), [...path, name], place);
      }
    }
    return object;
  }

  /** The API writes a few fields of its own in camelCase; those are found in the schema as they are. */
  #wireKey(key: string, shape: Shape, path: Segments): string {
    if (shape.opaque) return key;
    if (path.length === 0 && Object.hasOwn(kinds[this.#kind].body.shape, key)) return key;
    return toSnakeCase(key);
  }

  #value(raw: unknown, shape: Shape, path: Segments, written: Segments): unknown {
    if (shape.secret) return this.#secret(raw, path, written);
    if (shape.verbatim) {
      this.#checkVerbatim(raw, written);
      return raw;
    }
    if (typeof raw !== 'object' || raw === null) {
      this.#checkScalar(raw, written);
      return raw;
    }
    if (isValueFrom(raw)) {
      this.#refuseValueFrom(written);
      return undefined;
    }
    if (!Array.isArray(raw)) {
      return this.#object(raw as Record<string, unknown>, shape, path, written);
    }
    return raw.map((item: unknown, at) => {
      const inner = shape.child(`${at}`);
      const place = [...written, `${at}`];
      const reference = isMap(item) ? itemReference(item, inner) : undefined;
      return reference === undefined
        ? this.#value(item, inner, [...path, `${at}`], place)
        : this.#reference(
            reference.field,
            reference.value,
            [...path, `${at}`],
            [...place, reference.key],
          );
    });
  }

  #checkVerbatim(raw: unknown, written: Segments): void {
    if (typeof raw !== 'object' || raw === null) {
      this.#checkScalar(raw, written);
    } else if (isValueFrom(raw)) {
      this.#refuseValueFrom(written);
    } else {
      for (const [key, value] of Object.entries(raw)) {
        if (key === '__proto__') this.#refuseProto([...written, key]);
        this.#checkVerbatim(value, [...written, key]);
      }
    }
  }

  #refuseProto(written: Segments): void {
    this.#fault(written, 'unknown-field', 'the key __proto__ is not allowed');
  }

  #refuseValueFrom(written: Segments): void {
    const places = kinds[this.#kind].secrets.map((path) => `spec.${path}`);
    const fix =
      places.length === 0
        ? `a ${this.#kind} has no secret fields`
        : `secret fields of a ${this.#kind} are ${places.join(', ')}`;
    this.#fault(written, 'value-from', `${spelled(written)} is no secret field`, fix);
  }

  #checkScalar(value: unknown, written: Segments): void {
    if (typeof value === 'string') {
      if (!looksLikeCredential(value)) return;
      const message = `${spelled(written)} holds what looks like a credential`;
      this.#fault(written, 'secret-literal', message, 'keep credentials out of the source');
    } else if (typeof value === 'number') {
      if (!Number.isFinite(value)) {
        const message = `${spelled(written)} must be a finite number`;
        this.#fault(written, 'number', message, 'put it in quotes if it is text');
      } else if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
        const message = `${spelled(written)} is too large to be read exactly`;
        this.#fault(written, 'number', message, 'put it in quotes if it is text');
      }
    }
  }

  #secret(raw: unknown, path: Segments, written: Segments): unknown {
    if (isValueFrom(raw)) {
      const reading = readValueFrom(raw, this.#sources);
      if ('message' in reading) {
        this.#fault(written, reading.code, `${spelled(written)}: ${reading.message}`, reading.fix);
        return secretStandIn;
      }
      this.#keepSecret(reading.secret, path);
      return reading.available ? reading.secret.reveal() : secretStandIn;
    }
    if (typeof raw !== 'string') return raw;
    const header = path.at(-1) ?? '';
    if (isCredentialName(header) || looksLikeCredential(raw)) {
      const message = `${spelled(written)} must not stand in the source as text`;
      this.#fault(written, 'secret-literal', message, 'write {valueFrom: {env: NAME}}');
      return secretStandIn;
    }
    this.#keepSecret(new Secret(raw, 'manifest'), path);
    return raw;
  }

  #keepSecret(secret: Secret, path: Segments): void {
    this.#secrets.set(pointerOf(path), secret);
    this.#placeholders.push({ path, value: { $secret: secret.origin, fingerprint: '' } });
  }

  #reference(field: ReferenceField, raw: unknown, path: Segments, written: Segments): unknown {
    if (raw === null) return null;
    if (typeof raw !== 'string' || !/^[^/\s]+(\/[^/\s]+)?$/.test(raw)) {
      const message = `${spelled(written)} must be the name of a ${field.kind}`;
      this.#fault(written, 'reference', message, 'write name, or workspace/name');
      return standIn;
    }
    this.#refer(field.kind, raw, path, written);
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
