/** Knows which single request a change of a set stands for, once what it refers to is there. */
import type { InnerRequest, InnerResult } from '../../http/routes/route.ts';
import type { ChangeRequest } from '../../model/kinds/change-set.ts';
import { type KindName, kinds } from '../../model/kinds/kinds.ts';
import { matchesPattern, replaceValues } from '../../model/manifests/path-patterns.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { validationError } from '../../model/wire/validation-error.ts';

/** What became of the earlier changes of a set, by label; null for those that were not carried out. */
export type Outcomes = ReadonlyMap<string, Made | null>;

interface Made {
  readonly id: string;
  readonly slug: string | null;
}

/**
 * The strict plane, whatever plane the kind's own client uses.
 *
 * @throws ApiError `invalid` for a change that says too little, or refers to no earlier one;
 *   `dependency` for one that goes with a change that was not carried out
 */
export function requestOf(change: ChangeRequest, outcomes: Outcomes): InnerRequest {
  for (const label of change.after ?? []) requireDone(outcomes, label, ['after']);
  const { kind, action, id } = change;
  const { create, item, pathFields } = kinds[kind];
  const body = change.body === undefined ? {} : resolved(kind, change.body, outcomes);
  requirePlace(change, body);
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

/** What later changes may refer to; null where nothing was made. */
export function madeBy({ body }: InnerResult): Made | null {
  const { id, map_id: mapId, slug } = body as { id?: unknown; map_id?: unknown; slug?: unknown };
  const own = id ?? mapId;
  if (typeof own !== 'string') return null;
  return { id: own, slug: typeof slug === 'string' ? slug : null };
}

/** `{"$ref": "label"}` in a field that names another resource, and nowhere else. */
function resolved(
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
    return field.by === 'slug' ? (slug ?? id) : id;
  });
}

function labelIn(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || !('$ref' in value)) return null;
  return typeof value.$ref === 'string' && Object.keys(value).length === 1 ? value.$ref : null;
}

function requireDone(outcomes: Outcomes, label: string, path: readonly string[]): Made {
  const made = outcomes.get(label);
  if (made === undefined) {
    throw validationError({ path, message: 'names no earlier change of the set' });
  }
  if (made === null) throw new ApiError('dependency', undefined, path.join('.'));
  return made;
}

/** What stands in the path of the single request is there. */
function requirePlace({ kind, action, id }: ChangeRequest, body: Record<string, unknown>): void {
  const { pathFields, isNamedByPathFields } = kinds[kind];
  const needed = isNamedByPathFields || action === 'create' ? pathFields : [];
  const missing = needed.find((field) => typeof body[field] !== 'string');
  if (missing !== undefined) {
    throw validationError({ path: [missing], message: 'is required: it says what is meant' });
  }
  if (action === 'create' || isNamedByPathFields ? id !== undefined : id === undefined) {
    const message = id === undefined ? 'is required' : 'is not for this change';
    throw validationError({ path: ['id'], message });
  }
}
