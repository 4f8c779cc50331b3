/** Converts one change of a change set to the API request that carries it out. */
import type { InnerRequest, InnerResult } from '../../http/routes/route.ts';
import type { ChangeRequest } from '../../model/kinds/change-set.ts';
import { type KindName, kinds } from '../../model/kinds/kinds.ts';
import { matchesPattern, replaceValues } from '../../model/manifests/path-patterns.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { validationError } from '../../model/wire/validation-error.ts';

/**
 * Resources written by earlier changes of the set, by label; null for changes that were not carried out.
 */
export type Outcomes = ReadonlyMap<string, ChangedResource | null>;

interface ChangedResource {
  readonly id: string;
  readonly slug: string | null;
}

/**
 * Uses the v2 mount, which refuses unknown fields, for every kind.
 *
 * @throws ApiError `invalid` for an incomplete change or an unknown label; `dependency` when a change that
 *   this one depends on was not carried out
 */
export function toInnerRequest(change: ChangeRequest, outcomes: Outcomes): InnerRequest {
  for (const label of change.after ?? []) requireDone(outcomes, label, ['after']);
  const { kind, action, id } = change;
  const { create, item, pathFields } = kinds[kind];
  const body = change.body === undefined ? {} : resolveReferences(kind, change.body, outcomes);
  requirePathFields(change, body);
  const { method, path } =
    action === 'create'
      ? create(body)
      : {
          method: action === 'update' ? ('PUT' as const) : ('DELETE' as const),
          path: item(id ?? '', body),
        };
  const sent = Object.entries(body).filter(([field]) => !pathFields.includes(field));
  return {
    method,
    path: path.replace(/^(?:\/admin)?\/v\d(?=\/)/, '/v2'),
    body: Object.fromEntries(sent),
    ifMatch: change.if_match ?? null,
    idempotencyKey: change.idempotency_key ?? null,
  };
}

/** Id and slug that later changes may refer to; null when the response has none. */
export function changedResourceOf({ body }: InnerResult): ChangedResource | null {
  const { id, map_id: mapId, slug } = body as { id?: unknown; map_id?: unknown; slug?: unknown };
  const own = id ?? mapId;
  if (typeof own !== 'string') return null;
  return { id: own, slug: typeof slug === 'string' ? slug : null };
}

/** Resolves `{"$ref": "label"}` in fields that reference other resources. */
function resolveReferences(
  kind: KindName,
  body: Record<string, unknown>,
  outcomes: Outcomes,
): Record<string, unknown> {
  const { references } = kinds[kind];
  return replaceValues(body, (value, segments) => {
    const label = labelIn(value);
    if (label === null) return undefined;
    const field = references.find(({ path }) => matchesPattern(path, segments));
    if (field === undefined) return undefined;
    const { id, slug } = requireDone(outcomes, label, segments);
    return field.by === 'slug' ? `${field.prefix ?? ''}${slug ?? id}` : id;
  });
}

function labelIn(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || !('$ref' in value)) return null;
  return typeof value.$ref === 'string' && Object.keys(value).length === 1 ? value.$ref : null;
}

function requireDone(outcomes: Outcomes, label: string, path: readonly string[]): ChangedResource {
  const resource = outcomes.get(label);
  if (resource === undefined) {
    throw validationError({ path, message: 'is not the label of an earlier change of the set' });
  }
  if (resource === null) throw new ApiError('dependency', undefined, path.join('.'));
  return resource;
}

/** Requires the fields that form the path of the request. */
function requirePathFields(
  { kind, action, id }: ChangeRequest,
  body: Record<string, unknown>,
): void {
  const { pathFields, isNamedByPathFields } = kinds[kind];
  const needed = isNamedByPathFields || action === 'create' ? pathFields : [];
  const missing = needed.find((field) => typeof body[field] !== 'string');
  if (missing !== undefined) {
    throw validationError({ path: [missing], message: 'is required to identify the resource' });
  }
  if (action === 'create' || isNamedByPathFields ? id !== undefined : id === undefined) {
    const message = id === undefined ? 'is required' : 'is not allowed for this change';
    throw validationError({ path: ['id'], message });
  }
}
