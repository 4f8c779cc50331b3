/** Describes one operation of the Admin API from its route. */
import { errorTable } from '../../model/wire/errors.ts';
import { refuseUnknown } from '../input/input.ts';
import { takesNullAsAbsent } from '../input/null-fields.ts';
import type { MountedRoute } from '../routes/registry.ts';
import type { CredentialKind, Route } from '../routes/route.ts';
import { errorKindsOf } from '../routes/route-errors.ts';
import type { ComponentSchemas } from './component-schemas.ts';
import { errorReference } from './error-schemas.ts';
import { bodyExample } from './examples.ts';
import type { OpenApiJson } from './json-schema.ts';
import { parametersOf } from './parameters.ts';
import { schemaName } from './schema-names.ts';
import { tagOf } from './tags.ts';
import { operationText } from './texts/operations.ts';

const securityOf: Partial<Record<CredentialKind, string>> = {
  'access-token': 'accessToken',
  'api-key': 'gatewayApiKey',
  'bearer-key': 'bearerApiKey',
  session: 'sessionCookie',
  client: 'clientCredentials',
};

/** `path` has its mount and parameters in braces. */
export function operationOf(
  mounted: MountedRoute<never>,
  path: string,
  components: ComponentSchemas,
): OpenApiJson {
  const { route, accepts } = mounted;
  const tag = tagOf(path);
  const security = accepts.flatMap((kind) => {
    const scheme = securityOf[kind];
    return scheme === undefined ? [] : [{ [scheme]: [] }];
  });
  const success = components.write(
    route.response,
    { io: 'output' },
    schemaName(route.method, path, 'output'),
  );
  return {
    operationId: operationId(route.method, path),
    ...(tag === null ? {} : { tags: [tag] }),
    summary: route.summary,
    description: describe(mounted),
    security,
    ...(typeof route.scope === 'string' ? { 'x-required-scope': route.scope } : {}),
    parameters: parametersOf(route, path),
    ...requestBodyOf(mounted, path, components),
    responses: responsesOf(route, accepts, success),
  };
}

/** States the effect of the operation, then the scope that it requires. */
function describe({ route }: MountedRoute<never>): string {
  const text = operationText(route.method, pathInBraces(route.path)) ?? `${route.summary}.`;
  if (route.scope === undefined) return text;
  return typeof route.scope === 'string'
    ? `${text}\n\nRequires the scope \`${route.scope}\`.`
    : `${text}\n\nThe required scope depends on the resource.`;
}

/** Replaces `:id` by `{id}`. */
export function pathInBraces(pattern: string): string {
  return pattern.replaceAll(/:([^/]+)/g, '{$1}');
}

function requestBodyOf(
  { route, mount }: MountedRoute<never>,
  path: string,
  components: ComponentSchemas,
): OpenApiJson {
  const { body } = route;
  if (body === undefined) return {};
  const isForm = route.bodyType === 'form';
  const isLenient = mount === 'v1';
  const closed = isLenient ? body : refuseUnknown(body);
  const acceptsEmpty = closed.safeParse({}).success;
  const isOptional = acceptsEmpty && closed.meta()?.minProperties === undefined;
  const use = { io: 'input', isLenient, takesNull: takesNullAsAbsent(route) } as const;
  const schema = components.write(closed, use, schemaName(route.method, path, 'input'));
  const example = bodyExample(route.method, pathInBraces(route.path));
  const unknown = isLenient || isForm ? 'Unknown fields are dropped.' : 'Unknown fields are 400.';
  return {
    requestBody: {
      description: isForm ? `A form. ${unknown}` : `A JSON object. ${unknown}`,
      required: !isOptional,
      content: {
        [isForm ? 'application/x-www-form-urlencoded' : 'application/json']: {
          schema,
          ...(example === null ? {} : { example }),
        },
      },
    },
  };
}

function responsesOf(
  route: Route<never>,
  accepts: readonly CredentialKind[],
  success: OpenApiJson,
): OpenApiJson {
  const { failureStatus, revalidated, successStatus = 200 } = route;
  const response = (description: string, schema: OpenApiJson): OpenApiJson => ({
    description,
    content: { 'application/json': { schema } },
  });
  const error = errorReference(route.errors ?? 'wrapped');
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
    default: response('Any other refusal', errorReference('wrapped')),
  };
}

/** `put_v2_guardrails_guardrailId`. */
export function operationId(method: string, path: string): string {
  return [method.toLowerCase(), ...path.split(/[/{}.]+/).filter((part) => part !== '')].join('_');
}
