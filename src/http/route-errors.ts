/** Knows which errors a route can answer with, told from what it declares. */
import { z } from 'zod';
import type { ErrorKind } from '../model/errors.ts';
import type { CredentialKind, Route } from './route.ts';

/** Every kind of error that the route can answer; no two are of one kind. */
export function errorKindsOf(
  route: Route<never>,
  accepts: readonly CredentialKind[],
): ReadonlySet<ErrorKind> {
  const { body, features = [], refusals = [], scope, versioned } = route;
  const guarded = accepts.some((kind) => kind !== 'none');
  const when = (applies: boolean, ...kinds: ErrorKind[]): ErrorKind[] => (applies ? kinds : []);
  return new Set<ErrorKind>([
    // What can be read in two ways is refused on any route.
    'invalid',
    ...when(guarded, 'unauthorized', 'unavailable'),
    ...when(accepts.includes('client'), 'rateLimited'),
    ...when(accepts.includes('api-key') || accepts.includes('bearer-key'), 'exhausted'),
    ...when(features.length > 0, 'featureDisabled'),
    ...when(scope !== undefined, 'forbidden'),
    ...when(namesSomething(route), 'notFound'),
    ...when(isIdempotent(route) || honoursOwner(route), 'conflict'),
    ...when(versioned === true, 'stale'),
    ...when(body !== undefined, 'tooLarge', 'unsupportedMedia'),
    ...refusals,
    'internal',
  ]);
}

/** Whether the route heeds `Idempotency-Key` (see admin/request/idempotency.ts). */
export function isIdempotent({
  method,
  bodyType,
  repeatable,
}: Pick<Route, 'method' | 'bodyType' | 'repeatable'>): boolean {
  return method === 'POST' && bodyType !== 'form' && repeatable !== true;
}

function honoursOwner({ leaseHeaders = [] }: Route<never>): boolean {
  return leaseHeaders.includes('gatewright-owner');
}

/** Fields that name what a request is about, and that may not be there. */
const references = ['workspace_id', 'organisation_id'];

/** A parameter of a form of its own is no id, but a word or a name that is given. */
function namesSomething({ path, params, query, body }: Route<never>): boolean {
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
