/** Knows how the routes read as an OpenAPI 3.1 document, so that description and behaviour cannot part. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { errorTable } from '../model/errors.ts';
import { idempotencyKeyPattern } from '../model/idempotency.ts';
import { createDocument } from './document.ts';
import { refuseUnknown } from './input.ts';
import { type MountedRoute, mountRoutes } from './registry.ts';
import { type CredentialKind, type Route, route } from './route.ts';

/** Version of the interface, not of this software. */
const interfaceVersion = '2.0.0';

type Json = Record<string, unknown>;

const securityOf: Partial<Record<CredentialKind, string>> = {
  'access-token': 'accessToken',
  'api-key': 'gatewayApiKey',
  client: 'clientCredentials',
};

/** Serves the description of `routes` and of itself at `/openapi.json`. */
export function openApiRoute(
  guarded: readonly Route<never>[],
  open: readonly Route<null>[],
): Route<null> {
  const self: Route<null> = route({
    method: 'GET',
    path: '/openapi.json',
    mounts: { root: ['none'] },
    summary: 'This description',
    response: z.record(z.string(), z.unknown()),
    mayClose: true,
    handle: (request) => document(request),
  });
  const document = createDocument(async () =>
    JSON.stringify(await describeApi([...mountRoutes(guarded), ...mountRoutes([...open, self])])),
  );
  return self;
}

/** In small steps, because it takes a while, the process serves others, and anyone may ask. */
async function describeApi(mounted: readonly MountedRoute<never>[]): Promise<Json> {
  const paths: Record<string, Json> = {};
  const book = new SchemaBook();
  for (const one of mounted) {
    await nextTurn();
    const path = one.pattern.replaceAll(/:([^/]+)/g, '{$1}');
    paths[path] = { ...paths[path], [one.route.method.toLowerCase()]: operation(one, path, book) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'gatewright Admin API',
      version: interfaceVersion,
      description: 'Control plane of an AI gateway: the resources a gateway works from.',
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      securitySchemes: {
        accessToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        gatewayApiKey: { type: 'apiKey', in: 'header', name: 'x-gateway-api-key' },
        clientCredentials: { type: 'http', scheme: 'basic' },
      },
      schemas: {
        Error: wrappedError,
        FlatError: flatError,
        OAuthError: oauthError,
        ...book.shared,
      },
    },
  };
}

function operation(
  { route, mount, accepts }: MountedRoute<never>,
  path: string,
  book: SchemaBook,
): Json {
  const security = accepts.flatMap((kind) => {
    const scheme = securityOf[kind];
    return scheme === undefined ? [] : [{ [scheme]: [] }];
  });
  const { body } = route;
  const type = route.bodyType === 'form' ? 'application/x-www-form-urlencoded' : 'application/json';
  const closed = body !== undefined && mount !== 'v1' ? refuseUnknown(body) : body;
  const optional = closed?.safeParse({}).success ?? true;
  const name = operationId(route.method, path);
  return {
    operationId: name,
    summary: route.summary,
    security,
    ...(typeof route.scope === 'string' ? { 'x-required-scope': route.scope } : {}),
    parameters: [
      ...pathParameters(route, path),
      ...queryParameters(route),
      ...versionHeader(route),
      ...idempotencyHeader(route),
    ],
    ...(closed === undefined
      ? {}
      : {
          requestBody: {
            required: !optional,
            content: { [type]: { schema: book.write(closed, 'input', name) } },
          },
        }),
    responses: responses(route, accepts, book.write(route.response, 'output', name)),
  };
}

function responses(route: Route<never>, accepts: readonly CredentialKind[], success: Json): Json {
  const schema = { flat: 'FlatError', oauth: 'OAuthError', wrapped: 'Error' }[
    route.errors ?? 'wrapped'
  ];
  const content = {
    'application/json': { schema: { $ref: `#/components/schemas/${schema}` } },
  };
  const error = (kind: keyof typeof errorTable): [string, Json] => [
    String(errorTable[kind].status),
    { description: errorTable[kind].message, content },
  ];
  const guarded = accepts.some((kind) => kind !== 'none');
  return Object.fromEntries([
    [
      String(route.successStatus ?? 200),
      {
        description: 'Success',
        content: { 'application/json': { schema: success } },
      },
    ],
    ...(guarded ? [error('invalid'), error('unauthorized')] : []),
    ...(route.scope === undefined ? [] : [error('forbidden')]),
    ...(route.path.includes(':') ? [error('notFound')] : []),
    ...(route.versioned === true ? [error('stale')] : []),
    ...(route.body === undefined ? [] : [error('tooLarge'), error('unsupportedMedia')]),
    error('internal'),
    error('unavailable'),
  ]);
}

function pathParameters(route: Route<never>, path: string): Json[] {
  const shapes = propertiesOf(route.params);
  return [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: shapes.properties[name!] ?? { type: 'string' },
  }));
}

function queryParameters(route: Route<never>): Json[] {
  const { properties, required } = propertiesOf(route.query);
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
}

function versionHeader(route: Route<never>): Json[] {
  if (route.versioned !== true) return [];
  const description = 'Version the change was made from, in quotes; 412 when it is another by now';
  return [
    { name: 'If-Match', in: 'header', required: false, description, schema: { type: 'string' } },
  ];
}

function idempotencyHeader(route: Route<never>): Json[] {
  if (route.method !== 'POST' || route.bodyType === 'form') return [];
  const description = 'Sent again with the same request within 24 hours, answers as the first time';
  const schema = { type: 'string', pattern: idempotencyKeyPattern.source };
  return [{ name: 'Idempotency-Key', in: 'header', required: false, description, schema }];
}

function propertiesOf(schema: z.ZodType | undefined): {
  properties: Record<string, Json>;
  required: readonly string[];
} {
  const json = schema === undefined ? {} : schemaOf(schema, 'input');
  return {
    properties: (json.properties ?? {}) as Record<string, Json>,
    required: (json.required ?? []) as string[],
  };
}

/** From here on a schema is written once, under a name, and referred to. */
const sharedFromChars = 200;

/** Writes each schema once: small ones in place, others under the name of the operation that came first. */
class SchemaBook {
  readonly shared: Record<string, Json> = {};
  readonly #references = new Map<string, Json>();

  write(schema: z.ZodType, io: 'input' | 'output', operation: string): Json {
    const original = schemaOf(schema, io);
    const text = JSON.stringify(original);
    const isSmall = text.length < sharedFromChars && !text.includes('"$ref":"#');
    if (isSmall) return original;
    const known = this.#references.get(text);
    if (known !== undefined) return known;
    const name = `${operation}_${io}`;
    const reference = { $ref: `#/components/schemas/${name}` };
    this.#references.set(text, reference);
    this.#define(name, original);
    return reference;
  }

  /** References within a schema are to its own parts, which get names that begin with its own. */
  #define(name: string, { $defs = {}, ...json }: Json): void {
    const local = (definition: Json): Json => {
      const text = JSON.stringify(definition)
        .replaceAll('"$ref":"#"', `"$ref":"#/components/schemas/${name}"`)
        .replaceAll('"#/$defs/', `"#/components/schemas/${name}_`);
      return JSON.parse(text) as Json;
    };
    for (const [key, definition] of Object.entries($defs as Record<string, Json>)) {
      this.shared[`${name}_${key}`] = local(definition);
    }
    this.shared[name] = local(json);
  }
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Json;
  return json;
}

/** `put_v2_guardrails_guardrailId`. */
function operationId(method: string, path: string): string {
  return [method.toLowerCase(), ...path.split(/[/{}.]+/).filter((part) => part !== '')].join('_');
}

const strings = (...names: string[]): Json => ({
  type: 'object',
  required: names,
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
});

const flatError = strings('code', 'message', 'param', 'type');
const oauthError = strings('error', 'error_description');
const wrappedError: Json = {
  type: 'object',
  required: ['success', 'status_code', 'error', 'data'],
  properties: {
    success: { const: false },
    status_code: { type: 'integer' },
    error: { $ref: '#/components/schemas/FlatError' },
    data: strings('message', 'errorCode'),
  },
};
