/** Derives the errors that a route can return from its declaration. */
import { z } from 'zod';
import type { ErrorKind } from '../../model/wire/errors.ts';
import type { CredentialKind, Route } from './route.ts';

/** Every kind of error that the route can return. */
export function errorKindsOf(
  route: Route<never>,
  accepts: readonly CredentialKind[],
): ReadonlySet<ErrorKind> {
  const { body, features = [], refusals = [], scope, versioned } = route;
  const guarded = accepts.some((kind) => kind !== 'none');
  const when = (applies: boolean, ...kinds: ErrorKind[]): ErrorKind[] => (applies ? kinds : []);
  return new Set<ErrorKind>([
    // Ambiguous requests are refused on every route.
    'invalid',
    ...when(guarded, 'unauthorized', 'unavailable'),
    ...when(accepts.includes('client'), 'rateLimited'),
    ...when(accepts.includes('api-key') || accepts.includes('bearer-key'), 'exhausted'),
    ...when(features.length > 0, 'featureDisabled'),
    ...when(scope !== undefined, 'forbidden'),
    ...when(refersToResource(route), 'notFound'),
    ...when(isIdempotent(route) || supportsOwner(route), 'conflict'),
    ...when(versioned === true, 'stale'),
    ...when(body !== undefined, 'tooLarge', 'unsupportedMedia'),
    ...refusals,
    'internal',
  ]);
}

/** Whether the route supports `Idempotency-Key` (see admin/request/idempotency.ts). */
export function isIdempotent({
  method,
  bodyType,
  isRepeatable,
}: Pick<Route, 'method' | 'bodyType' | 'isRepeatable'>): boolean {
  return method === 'POST' && bodyType !== 'form' && isRepeatable !== true;
}

function supportsOwner({ leaseHeaders = [] }: Route<never>): boolean {
  return leaseHeaders.includes('gatewright-owner');
}

/** Fields that refer to another resource, which may not exist. */
const references = ['workspace_id', 'organisation_id'];

/** A path parameter with a schema of its own is a keyword or a new name, not an id that may be unknown. */
function refersToResource({ path, params, query, body }: Route<never>): boolean {
  const parameters = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!);
  const described = fieldsOf(params);
  const fields = [...fieldsOf(query), ...fieldsOf(body)];
  return (
    parameters.some((name) => !described.includes(name)) ||
    references.some((name) => fields.includes(name))
  );
}

function fieldsOf(schema: z.ZodType | undefined): string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}
