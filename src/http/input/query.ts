/** Parses the query of a request by the route's schema, and refuses members that the route does not describe. */
import { z } from 'zod';
import type { Fault } from '../../model/wire/fault.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import { didYouMean } from '../../suggest.ts';
import type { Route } from '../routes/route.ts';
import { parseFields, readLenient } from './input.ts';

const listedMax = 12;

type QueryRoute = Pick<Route<never>, 'query' | 'ignoresUnknownQuery'>;

/** The query parameters that a route describes. */
function queryNames({ query }: Pick<QueryRoute, 'query'>): readonly string[] {
  return query instanceof z.ZodObject ? Object.keys(query.shape) : [];
}

/**
 * Creates the parser of a route's query, which takes the text after the `?`. The result is undefined for
 * a route without a schema.
 */
export function createQueryReader(route: QueryRoute): (search: string) => unknown {
  const { query: schema, ignoresUnknownQuery = false } = route;
  const names = queryNames(route);
  const known = new Set(names);
  return (search) => {
    if (search === '' && schema === undefined) return undefined;
    const fields = parseFields(new URLSearchParams(search));
    const unknown = Object.keys(fields).filter((name) => !known.has(name));
    if (unknown.length > 0 && !ignoresUnknownQuery) {
      throw validationError(...unknown.map((name) => unknownParameter(name, names)));
    }
    return schema === undefined ? undefined : readLenient(schema, fields);
  };
}

function unknownParameter(name: string, names: readonly string[]): Fault {
  return { path: [name], message: `is not a known query parameter; ${fixOf(name, names)}` };
}

function fixOf(name: string, names: readonly string[]): string {
  if (names.length === 0) return 'this route has none';
  const hint = didYouMean(name, names);
  if (hint !== undefined) return hint;
  const listed = names.slice(0, listedMax).join(', ');
  return `known are ${listed}${names.length > listedMax ? ' and others' : ''}`;
}
