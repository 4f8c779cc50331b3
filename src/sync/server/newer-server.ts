/** Removes from a snapshot what a newer server reports and this version does not know. */

import { z } from 'zod';
import { isObject } from '../../model/json/read-object.ts';
import { type KindName, kindNames } from '../../model/kinds/kinds.ts';
import { loadSpecSchema } from '../../model/kinds/spec-schemas.ts';

export interface KnownSnapshotPart {
  /** The snapshot without unknown parts. */
  readonly body: unknown;
  /** The removed parts: `RoutePolicy/support/eu`, or `ApiKey/support/bot: rate_limits[0].burst`. */
  readonly unknown: readonly string[];
}

/**
 * Removes resources of unknown kinds and unknown fields of specs at any depth, so that an older
 * client works with the rest and neither compares nor deletes what it cannot see. A response of
 * another form is returned unchanged, to be validated as a whole.
 */
export async function withoutUnknown(body: unknown): Promise<KnownSnapshotPart> {
  if (!isObject(body) || !Array.isArray(body.resources)) return { body, unknown: [] };
  const unknown: string[] = [];
  const resources: unknown[] = [];
  for (const resource of body.resources as unknown[]) {
    if (isObject(resource) && isKnownKind(resource.kind)) {
      resources.push(await withoutFields(resource, resource.kind, unknown));
    } else if (isObject(resource) && typeof resource.kind === 'string') {
      unknown.push(nameOf(resource));
    } else {
      resources.push(resource);
    }
  }
  return { body: { ...body, resources }, unknown };
}

async function withoutFields(
  resource: Readonly<Record<string, unknown>>,
  kind: KindName,
  unknown: string[],
): Promise<unknown> {
  const schema = formOf(await loadSpecSchema(kind));
  const { spec, managed_by: managed } = resource;
  const extra: string[] = [];
  const known = knownPart(schema, spec, '', extra);
  const base = isObject(managed) ? knownPart(schema, managed.last_applied, '', []) : undefined;
  if (known === spec && (!isObject(managed) || base === managed.last_applied)) return resource;
  unknown.push(...extra.map((path) => `${nameOf(resource)}: ${path}`));
  return {
    ...resource,
    spec: known,
    ...(isObject(managed) ? { managed_by: { ...managed, last_applied: base } } : {}),
  };
}

/** The part of a schema that may meet unknown values; `null` where that is impossible. */
type SchemaForm =
  | { readonly items: SchemaForm }
  | { readonly fields: ReadonlyMap<string, SchemaForm> }
  | null;

/** Schemas live as long as the process. */
const forms = new WeakMap<object, SchemaForm>();

function formOf(schema: object): SchemaForm {
  let form = forms.get(schema);
  if (form === undefined) {
    form = readForm(unwrapSchema(schema));
    forms.set(schema, form);
  }
  return form;
}

function readForm(schema: unknown): SchemaForm {
  if (schema instanceof z.ZodArray) {
    const items = formOf(schema.element);
    return items === null ? null : { items };
  }
  // An object that accepts any field, such as a routing document, has no unknown fields.
  const isClosed = schema instanceof z.ZodObject && !(schema.def.catchall instanceof z.ZodUnknown);
  if (!isClosed) return null;
  const fields = Object.entries(schema.shape as Record<string, object>);
  return { fields: new Map(fields.map(([key, field]) => [key, formOf(field)])) };
}

/** Returns whether everything is known, the usual case. */
function isKnown(form: SchemaForm, value: unknown): boolean {
  if (form === null || typeof value !== 'object' || value === null) return true;
  if ('items' in form) {
    return !Array.isArray(value) || value.every((item) => isKnown(form.items, item));
  }
  if (Array.isArray(value)) return true;
  for (const key of Object.keys(value)) {
    const field = form.fields.get(key);
    if (field === undefined || !isKnown(field, (value as Record<string, unknown>)[key])) {
      return false;
    }
  }
  return true;
}

/** Returns the value without unknown fields, and adds their paths to `extra`. */
function knownPart(form: SchemaForm, value: unknown, path: string, extra: string[]): unknown {
  if (form === null || isKnown(form, value)) return value;
  if ('items' in form) {
    const items = value as readonly unknown[];
    return items.map((item, at) => knownPart(form.items, item, `${path}[${at}]`, extra));
  }
  const entries = Object.entries(value as object).flatMap(([key, at]): [string, unknown][] => {
    const place = path === '' ? key : `${path}.${key}`;
    const field = form.fields.get(key);
    if (field !== undefined) return [[key, knownPart(field, at, place, extra)]];
    extra.push(place);
    return [];
  });
  return Object.fromEntries(entries);
}

/** Removes the optional, nullable and default wrappers of a schema. */
function unwrapSchema(schema: unknown): unknown {
  const isWrapper =
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault;
  return isWrapper ? unwrapSchema(schema.unwrap()) : schema;
}

function nameOf(resource: Readonly<Record<string, unknown>>): string {
  const { kind, name, slug, id, managed_by: managed } = resource;
  const declared = isObject(managed) ? [managed.workspace, managed.name] : [name ?? slug ?? id];
  return [kind, ...declared].filter((part) => typeof part === 'string').join('/');
}

function isKnownKind(kind: unknown): kind is KindName {
  return kindNames.some((known) => known === kind);
}
