/** Generates the OpenAPI 3.1 document from the routes, so that description and behaviour cannot differ. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { createStaticDocument } from '../responses/static-document.ts';
import { type MountedRoute, mountRoutes } from '../routes/registry.ts';
import { type Route, route } from '../routes/route.ts';
import { ComponentSchemas } from './component-schemas.ts';
import { errorSchemas } from './error-schemas.ts';
import { inferencePaths } from './inference.ts';
import { inferenceHeaders, inferenceParameters } from './inference-headers.ts';
import { inferenceSchemas } from './inference-schemas.ts';
import type { OpenApiJson } from './json-schema.ts';
import { operationOf, pathInBraces } from './operation.ts';
import { separateTemplates } from './path-templates.ts';
import { tagDescriptions } from './tags.ts';

/** Version of the API, not of this software. */
const interfaceVersion = '2.0.0';

const about = {
  title: 'gatewright API',
  version: interfaceVersion,
  description:
    'Control plane and gateway for model requests. The Admin API manages the resources that the gateway uses; the operations with the tag Inference are served by the gateway.\n\nA fixed word of a path takes precedence over a parameter: a parameter that could be confused with one excludes it by `not`.',
  contact: { name: 'The maintainers of gatewright' },
  license: { name: 'MIT', identifier: 'MIT' },
};

const securitySchemes = {
  accessToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'Access token of `POST /oauth2/access_token`.',
  },
  bearerApiKey: { type: 'http', scheme: 'bearer', description: 'API key as a Bearer token.' },
  gatewayApiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-gateway-api-key',
    description: 'API key.',
  },
  anthropicApiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
    description: 'API key at the gateway, as Anthropic SDKs send it.',
  },
  sessionCookie: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-gatewright-session',
    description: 'Session of a person who has signed in.',
  },
  clientCredentials: {
    type: 'http',
    scheme: 'basic',
    description: 'Id and secret of a service account.',
  },
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

/**
 * Returns the document of `mounted` and of the gateway's endpoints. Yields between routes, because the work
 * takes long and any client can trigger it.
 */
export async function describeApi(mounted: readonly MountedRoute<never>[]): Promise<OpenApiJson> {
  const paths: Record<string, OpenApiJson> = {};
  const components = new ComponentSchemas({ ...errorSchemas, ...inferenceSchemas });
  for (const one of mounted) {
    await nextTurn();
    const path = pathInBraces(one.pattern);
    const operation = operationOf(one, path, components);
    paths[path] = { ...paths[path], [one.route.method.toLowerCase()]: operation };
  }
  for (const [path, operations] of Object.entries(inferencePaths())) {
    paths[path] = { ...operations, ...paths[path] };
  }
  await nextTurn();
  separateTemplates(paths);
  await nextTurn();
  const schemas = await components.define();
  return {
    openapi: '3.1.0',
    info: about,
    servers: [{ url: '/', description: 'The server that serves this document' }],
    tags: tagDescriptions,
    paths,
    components: {
      securitySchemes,
      parameters: inferenceParameters,
      headers: inferenceHeaders,
      schemas,
    },
  };
}
