/** Knows what a newer server tells that this version has no word for, and takes it out of the answer. */
import { loadBody } from '../../model/bodies.ts';
import { type KindName, kindNames } from '../../model/kinds.ts';

export interface KnownPart {
  /** The answer without what is not known. */
  readonly body: unknown;
  /** What was taken out: `RoutePolicy/support/eu`, or `Config/support/routing: new_field`. */
  readonly unknown: readonly string[];
}

/**
 * Leaves resources of unknown kinds and unknown fields of specs out of a snapshot, so that an older
 * client goes on with the rest: what it does not see it neither compares nor removes. An answer of
 * another form is handed back as it is, to be judged as a whole.
 */
export async function withoutUnknown(body: unknown): Promise<KnownPart> {
  if (!isMap(body) || !Array.isArray(body.resources)) return { body, unknown: [] };
  const unknown: string[] = [];
  const resources: unknown[] = [];
  for (const resource of body.resources as unknown[]) {
    if (isMap(resource) && isKnownKind(resource.kind)) {
      resources.push(await withoutFields(resource, resource.kind, unknown));
    } else if (isMap(resource) && typeof resource.kind === 'string') {
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
  const { shape } = await loadBody(kind);
  const { spec, managed_by: managed } = resource;
  const isUnknown = (key: string): boolean => !Object.hasOwn(shape, key);
  const extra = isMap(spec) ? Object.keys(spec).filter(isUnknown) : [];
  const base = isMap(managed) ? managed.last_applied : null;
  if (extra.length === 0 && !(isMap(base) && Object.keys(base).some(isUnknown))) return resource;
  unknown.push(...extra.map((key) => `${nameOf(resource)}: ${key}`));
  const known = (value: unknown): unknown =>
    isMap(value)
      ? Object.fromEntries(Object.entries(value).filter(([key]) => !isUnknown(key)))
      : value;
  return {
    ...resource,
    spec: known(spec),
    ...(isMap(managed) ? { managed_by: { ...managed, last_applied: known(base) } } : {}),
  };
}

function nameOf(resource: Readonly<Record<string, unknown>>): string {
  const { kind, name, slug, id, managed_by: managed } = resource;
  const declared = isMap(managed) ? [managed.workspace, managed.name] : [name ?? slug ?? id];
  return [kind, ...declared].filter((part) => typeof part === 'string').join('/');
}

function isKnownKind(kind: unknown): kind is KindName {
  return kindNames.some((known) => known === kind);
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
