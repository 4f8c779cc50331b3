/** Describes the parameters of a route: of its path, its query and its headers. */
import { managedNamePattern } from '../../managed-name.ts';
import { idempotencyKeyPattern } from '../../model/wire/idempotency.ts';
import { versionTagPattern } from '../responses/entity-tag.ts';
import type { LeaseHeader, Route } from '../routes/route.ts';
import { isIdempotent } from '../routes/route-errors.ts';
import { type OpenApiJson, schemaFields } from './json-schema.ts';
import { parameterText, pathIdText } from './texts/fields.ts';

export interface Parameter extends OpenApiJson {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: OpenApiJson;
  readonly description?: string;
}

/** `path` has its mount. */
export function parametersOf(route: Route<never>, path: string): Parameter[] {
  return [...pathParameters(route, path), ...queryParameters(route), ...headerParameters(route)];
}

function pathParameters(route: Route<never>, path: string): Parameter[] {
  const { properties } = schemaFields(route.params);
  return [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => {
    const schema = properties[name!] ?? { type: 'string' };
    const isId = /id$/i.test(name!) || parameterText(name!) === null;
    const usual = isId ? pathIdText(path, name!) : parameterText(name!);
    return described({ name: name!, in: 'path', required: true, schema }, usual);
  });
}

function queryParameters(route: Route<never>): Parameter[] {
  const { properties, required } = schemaFields(route.query);
  return Object.entries(properties).map(([name, { description, ...schema }]) => {
    const isRequired = required.includes(name);
    const parameter = { name, in: 'query', required: isRequired, schema } as const;
    return described(parameter, parameterText(name) ?? (description as string | undefined) ?? null);
  });
}

function described(parameter: Parameter, description: string | null): Parameter {
  return description === null ? parameter : { ...parameter, description };
}

function headerParameters(route: Route<never>): Parameter[] {
  const { leaseHeaders = [], revalidated, versioned } = route;
  const text = { type: 'string' };
  return [
    ...(versioned === true
      ? [header('If-Match', { ...text, pattern: versionTagPattern.source }, headerTexts.ifMatch)]
      : []),
    ...(revalidated === true ? [header('If-None-Match', text, headerTexts.ifNoneMatch)] : []),
    ...(isIdempotent(route)
      ? [header('Idempotency-Key', { ...text, pattern: keyPattern }, headerTexts.idempotencyKey)]
      : []),
    ...leaseHeaders.map((name) => header(name, leaseSchemas[name], headerTexts[name])),
  ];
}

function header(name: string, schema: OpenApiJson, description: string): Parameter {
  return { name, in: 'header', required: false, description, schema };
}

const keyPattern = idempotencyKeyPattern.source;

const leaseSchemas: Record<LeaseHeader, OpenApiJson> = {
  'gatewright-owner': { type: 'string', pattern: managedNamePattern.source },
  'gatewright-fence': { type: 'integer', minimum: 0, maximum: 999_999_999_999_999 },
};

const headerTexts = {
  ifMatch: 'Version on which the change is based, in quotes; 412 when the current version differs',
  ifNoneMatch: 'Entity tags of cached responses; 304 when one of them is current',
  idempotencyKey:
    'The same key with the same request within 24 hours returns the first response again',
  'gatewright-owner': 'Owner on whose behalf the change is made; requires the fence of its lease',
  'gatewright-fence': 'Fence number of the lease under which the change is made',
} as const;
