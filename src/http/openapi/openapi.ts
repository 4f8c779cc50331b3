/** Generates the OpenAPI 3.1 document from the routes, so that description and behaviour cannot differ. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { managedNamePattern } from '../../managed-name.ts';
import { errorTable } from '../../model/wire/errors.ts';
import { idempotencyKeyPattern } from '../../model/wire/idempotency.ts';
import { refuseUnknown } from '../input/input.ts';
import { isOptional, takesNullAsAbsent } from '../input/null-fields.ts';
import { versionTagPattern } from '../responses/entity-tag.ts';
import { createStaticDocument } from '../responses/static-document.ts';
import { type MountedRoute, mountRoutes } from '../routes/registry.ts';
import { type CredentialKind, type LeaseHeader, type Route, route } from '../routes/route.ts';
import { errorKindsOf, isIdempotent } from '../routes/route-errors.ts';
import { tagDescriptions, tagOf } from './tags.ts';

/** Version of the API, not of this software. */
const interfaceVersion = '2.0.0';

type Json = Record<string, unknown>;

const securityOf: Partial<Record<CredentialKind, string>> = {
  'access-token': 'accessToken',
  'api-key': 'gatewayApiKey',
  'bearer-key': 'bearerApiKey',
  session: 'sessionCookie',
  client: 'clientCredentials',
};

/** Serves the description of `routes` and of this route itself at `/openapi.json`. */
export function openApiRoute(
  guarded: readonly Route<never>[],
  open: readonly Route<null>[],
): Route<null> {
  const self: Route<null> = route({
    method: 'GET',
    path: '/openapi.json',
    mounts: { root: ['none'] },
    summary: 'Get the OpenAPI document',
    response: z.record(z.string(), z.unknown()),
    revalidated: true,
    mayClose: true,
    handle: (request) => document(request),
  });
  const document = createStaticDocument(async () =>
    JSON.stringify(await describeApi([...mountRoutes(guarded), ...mountRoutes([...open, self])])),
  );
  return self;
}

/** Yields between routes, because the work takes long and any client can trigger it. */
async function describeApi(mounted: readonly MountedRoute<never>[]): Promise<Json> {
  const paths: Record<string, Json> = {};
  const components = new ComponentSchemas();
  for (const one of mounted) {
    await nextTurn();
    const path = one.pattern.replaceAll(/:([^/]+)/g, '{$1}');
    paths[path] = {
      ...paths[path],
      [one.route.method.toLowerCase()]: operation(one, path, components),
    };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'gatewright Admin API',
      version: interfaceVersion,
      description: 'Control plane of an AI gateway: manages the resources that the gateway uses.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: tagDescriptions,
    paths,
    components: {
      securitySchemes: {
        accessToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        bearerApiKey: { type: 'http', scheme: 'bearer' },
        gatewayApiKey: { type: 'apiKey', in: 'header', name: 'x-gateway-api-key' },
        sessionCookie: { type: 'apiKey', in: 'cookie', name: '__Host-gatewright-session' },
        clientCredentials: { type: 'http', scheme: 'basic' },
      },
      schemas: {
        Error: wrappedError,
        FlatError: flatError,
        OAuthError: oauthError,
        ScimError: scimError,
        ...components.shared,
      },
    },
  };
}

function operation(
  { route, mount, accepts }: MountedRoute<never>,
  path: string,
  components: ComponentSchemas,
): Json {
  const security = accepts.flatMap((kind) => {
    const scheme = securityOf[kind];
    return scheme === undefined ? [] : [{ [scheme]: [] }];
  });
  const { body } = route;
  const type = route.bodyType === 'form' ? 'application/x-www-form-urlencoded' : 'application/json';
  const isLenient = mount === 'v1';
  const closed = body !== undefined && !isLenient ? refuseUnknown(body) : body;
  const acceptsEmpty = closed?.safeParse({}).success ?? true;
  const optional = acceptsEmpty && closed?.meta()?.minProperties === undefined;
  const name = operationId(route.method, path);
  const tag = tagOf(path);
  return {
    operationId: name,
    ...(tag === null ? {} : { tags: [tag] }),
    summary: route.summary,
    security,
    ...(typeof route.scope === 'string' ? { 'x-required-scope': route.scope } : {}),
    parameters: [
      ...pathParameters(route, path),
      ...queryParameters(route),
      ...headerParameters(route),
    ],
    ...(closed === undefined
      ? {}
      : {
          requestBody: {
            required: !optional,
            content: {
              [type]: {
                schema: components.write(
                  closed,
                  { io: 'input', isLenient, takesNull: takesNullAsAbsent(route) },
                  name,
                ),
              },
            },
          },
        }),
    responses: responses(route, accepts, components.write(route.response, { io: 'output' }, name)),
  };
}

function responses(route: Route<never>, accepts: readonly CredentialKind[], success: Json): Json {
  const { failureStatus, revalidated, successStatus = 200 } = route;
  const response = (description: string, schema: Json): Json => ({
    description,
    content: { 'application/json': { schema } },
  });
  const forms = { flat: 'FlatError', oauth: 'OAuthError', scim: 'ScimError', wrapped: 'Error' };
  const form = forms[route.errors ?? 'wrapped'];
  const error = { $ref: `#/components/schemas/${form}` };
  const refusals = [...errorKindsOf(route, accepts)].map((kind) => errorTable[kind]);
  return {
    [successStatus]:
      successStatus === 204 ? { description: 'Success' } : response('Success', success),
    ...(revalidated === true ? { 304: { description: 'Not modified' } } : {}),
    ...Object.fromEntries(
      refusals.map(({ status, message }) => [status, response(message, error)]),
    ),
    ...(failureStatus === undefined ? {} : { [failureStatus]: response('Failure', success) }),
    // Refusals before routing: see docs/reference/api.md, Limits of input.
    default: response('Any other refusal', { $ref: '#/components/schemas/Error' }),
  };
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

function headerParameters(route: Route<never>): Json[] {
  const header = (name: string, schema: Json, description: string): Json => ({
    name,
    in: 'header',
    required: false,
    description,
    schema,
  });
  const { leaseHeaders = [], revalidated, versioned } = route;
  const text = { type: 'string' };
  return [
    ...(versioned === true
      ? [header('If-Match', { ...text, pattern: versionTagPattern.source }, descriptions.ifMatch)]
      : []),
    ...(revalidated === true ? [header('If-None-Match', text, descriptions.ifNoneMatch)] : []),
    ...(isIdempotent(route)
      ? [header('Idempotency-Key', { ...text, pattern: keyPattern }, descriptions.idempotencyKey)]
      : []),
    ...leaseHeaders.map((name) => header(name, leaseSchemas[name], descriptions[name])),
  ];
}

const keyPattern = idempotencyKeyPattern.source;

const leaseSchemas: Record<LeaseHeader, Json> = {
  'gatewright-owner': { type: 'string', pattern: managedNamePattern.source },
  'gatewright-fence': { type: 'integer', minimum: 0, maximum: 999_999_999_999_999 },
};

const descriptions = {
  ifMatch: 'Version on which the change is based, in quotes; 412 when the current version differs',
  ifNoneMatch: 'Entity tags of cached responses; 304 when one of them is current',
  idempotencyKey:
    'The same key with the same request within 24 hours returns the first response again',
  'gatewright-owner': 'Owner on whose behalf the change is made; requires the fence of its lease',
  'gatewright-fence': 'Fence number of the lease under which the change is made',
} as const;

function propertiesOf(schema: z.ZodType | undefined): {
  properties: Record<string, Json>;
  required: readonly string[];
} {
  const json = schema === undefined ? {} : schemaOf(schema, { io: 'input' });
  return {
    properties: (json.properties ?? {}) as Record<string, Json>,
    required: (json.required ?? []) as string[],
  };
}

/** Schemas of this length or more are defined once, under a name, and referenced. */
const sharedFromChars = 200;

/**
 * Defines each schema once: small ones inline, others under the name of the first operation that uses them.
 */
class ComponentSchemas {
  readonly shared: Record<string, Json> = {};
  readonly #references = new Map<string, Json>();

  write(schema: z.ZodType, use: Use, operation: string): Json {
    const original = schemaOf(schema, use);
    const text = JSON.stringify(original);
    const isSmall = text.length < sharedFromChars && !text.includes('"$ref":"#');
    if (isSmall) return original;
    const existing = this.#references.get(text);
    if (existing !== undefined) return existing;
    const name = `${operation}_${use.io}`;
    const reference = { $ref: `#/components/schemas/${name}` };
    this.#references.set(text, reference);
    this.#define(name, original);
    return reference;
  }

  /** Local references of a schema are rewritten to component names that start with the schema's name. */
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

/** Purpose for which a schema is written. */
interface Use {
  readonly io: 'input' | 'output';
  /** Whether unknown fields are dropped. */
  readonly isLenient?: boolean;
  /** Whether null is accepted for optional fields. */
  readonly takesNull?: boolean;
}

function schemaOf(schema: z.ZodType, use: Use): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: use.io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => refine(zodSchema, jsonSchema, use),
  }) as Json;
  return json;
}

/** Adds what zod's JSON schema output lacks. */
function refine(
  { _zod: { def } }: z.core.$ZodTypes,
  json: z.core.JSONSchema.BaseSchema,
  { isLenient, takesNull }: Use,
): void {
  const named = json.enum ?? [json.const];
  if (json.type === 'number' && named.every(Number.isInteger)) json.type = 'integer';
  // zod omits the default where text of a parameter becomes a number.
  if (def.type === 'default' && json.type === 'integer') json.default = def.defaultValue as number;
  if (isLenient === true && json.additionalProperties === false) {
    delete json.additionalProperties;
  }
  if (takesNull !== true || def.type !== 'object') return;
  for (const [field, schema] of Object.entries(def.shape)) {
    const described = json.properties?.[field];
    if (described === undefined || !isOptional(schema) || z.safeParse(schema, null).success)
      continue;
    json.properties![field] = {
      anyOf: [described as z.core.JSONSchema.BaseSchema, { type: 'null' }],
    };
  }
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
const scimError: Json = {
  type: 'object',
  required: ['schemas', 'status', 'detail'],
  properties: {
    schemas: { type: 'array', items: { type: 'string' } },
    status: { type: 'string' },
    scimType: { type: 'string' },
    detail: { type: 'string' },
  },
};
const wrappedError: Json = {
  type: 'object',
  required: ['success', 'status_code', 'error', 'data'],
  properties: {
    success: { const: false },
    status_code: { type: 'integer', minimum: 400, maximum: 599 },
    error: { $ref: '#/components/schemas/FlatError' },
    data: strings('message', 'errorCode'),
  },
};
