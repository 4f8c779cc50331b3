/** Describes the endpoints of the gateway from the catalogue of endpoints. */
import { allEndpoints, isChosenByBody, publicPath } from '../../model/endpoints/catalogue.ts';
import { endpoint, type ListedEndpoint } from '../../model/endpoints/endpoint.ts';
import { type Metering, meterings } from '../../model/endpoints/metering.ts';
import { commonQueryMembers } from '../../model/endpoints/query-members.ts';
import { errorReference } from './error-schemas.ts';
import { bodyExample } from './examples.ts';
import { inferenceRequestHeaders, inferenceResponseHeaders } from './inference-headers.ts';
import { inferenceRequest, inferenceResponse } from './inference-schemas.ts';
import { inferenceSummary } from './inference-summary.ts';
import type { OpenApiJson } from './json-schema.ts';
import { operationId } from './operation.ts';

/** Prompts are no endpoint of a provider, so the catalogue does not have them. */
const promptCompletion = endpoint('POST /prompts/{id}/completions', {
  metering: 'chat_completions',
  requestTexts: 'unknown',
  responseTexts: 'chat_completions',
});

/** The gateway has an address of its own. */
const servers = [
  {
    url: 'http://{host}:{port}',
    description: 'The gateway',
    variables: {
      host: { default: '127.0.0.1', description: 'Host of the gateway' },
      port: { default: '8787', description: 'GATEWRIGHT_INFERENCE_PORT' },
    },
  },
];
const security = [{ gatewayApiKey: [] }, { bearerApiKey: [] }, { anthropicApiKey: [] }];

/** Operations of the gateway by path and method. */
export function inferencePaths(): Record<string, OpenApiJson> {
  const paths: Record<string, OpenApiJson> = {};
  for (const listed of [...allEndpoints, promptCompletion]) {
    // A path has one template in a description.
    if (isChosenByBody(listed)) continue;
    const path = namedTemplate(publicPath(listed.path));
    paths[path] = {
      ...paths[path],
      [listed.method.toLowerCase()]: inferenceOperation(listed, path),
    };
  }
  return paths;
}

function inferenceOperation(listed: ListedEndpoint, path: string): OpenApiJson {
  const { method, owned } = listed;
  return {
    operationId: operationId(method, path),
    tags: [owned === null ? 'Inference' : 'Stored objects'],
    summary: inferenceSummary(method, path),
    description: inferenceText(listed),
    servers,
    security,
    parameters: parametersOf(listed, path),
    ...(method === 'POST' ? { requestBody: requestBodyOf(listed) } : {}),
    responses: {
      200: {
        description: 'The response of the provider',
        headers: inferenceResponseHeaders,
        content: contentOf(listed),
      },
      '4XX': refusal(listed, 'The gateway or the provider refuses the request'),
      '5XX': refusal(listed, 'The gateway or the provider fails'),
    },
  };
}

function refusal(listed: ListedEndpoint, description: string): OpenApiJson {
  return { description, content: { 'application/json': { schema: errorSchemaOf(listed) } } };
}

/** The form that SDKs of the endpoint expect. Lists of models have two, by the headers of the client. */
function errorSchemaOf({ method, path, servedAs }: ListedEndpoint): OpenApiJson {
  if (path.startsWith('/model/')) return errorReference('aws');
  // Sockets of Google are refused as those of OpenAI, before their form is known.
  const isSocket = path.startsWith('/ws/');
  if ((servedAs ?? path).startsWith('/v1beta/') && !isSocket) return errorReference('gemini');
  if (/^\/models(?:\/|$)/.test(path)) {
    return { anyOf: [errorReference('inference'), errorReference('gemini')] };
  }
  if (method === 'DELETE' && /^\/responses\/[^/]+$/.test(path)) return errorReference('flat');
  return errorReference('inference');
}

/** States what limits, guardrails and ownership make of a request. */
function inferenceText(listed: ListedEndpoint): string {
  const { requestTexts, responseTexts, references, owned } = listed;
  const judged = [requestTexts && 'the request', responseTexts && 'the response'].filter(Boolean);
  const sentences = [
    owned === null
      ? 'Forwarded to the provider that the config of the key, a header or the model selects.'
      : 'Concerns objects of the caller; those of others are 404.',
    meteringText(listed),
    judged.length === 0 ? '' : `Guardrails judge ${judged.join(' and ')}.`,
    references.length === 0
      ? ''
      : `Objects that ${codeList(references)} name must belong to the caller.`,
    owned?.capability
      ? `Stored by the gateway or the provider, as \`capabilities.${owned.capability}\` of the integration says.`
      : '',
  ];
  return sentences.filter((sentence) => sentence !== '').join(' ');
}

function meteringText({ metering, storedMembers }: ListedEndpoint): string {
  const when =
    storedMembers === null ? '' : ` if the body has another member than ${codeList(storedMembers)}`;
  if (metering === 'nothing') return 'Calls no model.';
  if (metering === 'unbounded') {
    return 'Calls models with a usage that nothing bounds, so keys with a limit of tokens or cost are refused (403).';
  }
  if (metering === 'batches') {
    return 'Calls models for each request of the batch; budgets reserve the sum and charge its results.';
  }
  const { maxNames, countNames }: Metering = meterings[metering];
  if (maxNames.length === 0) return `Calls a model${when}; counts in budgets and limits.`;
  const multiplied = countNames.length === 0 ? '' : ` for each of ${codeList(countNames)}`;
  return `Calls a model${when}; budgets and limits bound ${codeList(maxNames)}${multiplied}.`;
}

function codeList(names: readonly string[]): string {
  const codes = names.map((name) => `\`${name}\``);
  return codes.length < 2 ? codes.join('') : `${codes.slice(0, -1).join(', ')} and ${codes.at(-1)}`;
}

function parametersOf({ query }: ListedEndpoint, path: string): OpenApiJson[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    description:
      name === 'model'
        ? 'Model by name; a slash in it is sent as %2F.'
        : `Identifies the ${name!.replace(/Id$/, '')}.`,
    schema: { type: 'string' },
  }));
  const inQuery = [...query, ...commonQueryMembers].map((name) => ({
    name,
    in: 'query',
    required: false,
    description: commonTexts[name] ?? 'Forwarded to the provider.',
    schema: { type: 'string' },
  }));
  return [...inPath, ...inQuery, ...inferenceRequestHeaders];
}

const commonTexts: Readonly<Record<string, string>> = {
  'api-version': 'Version of the API of Azure.',
  beta: 'Mark of beta requests of SDKs.',
  limit: 'Number of objects on a page.',
  order: '`asc` or `desc`.',
  after: 'Id of the object before the page.',
  before: 'Id of the object after the page.',
};

function requestBodyOf(listed: ListedEndpoint): OpenApiJson {
  const example = bodyExample(listed.method, `inference ${listed.path}`);
  const json = { schema: inferenceRequest(listed), ...(example === null ? {} : { example }) };
  const form = { schema: { type: 'object', additionalProperties: true } };
  return {
    description: 'A body in the format of the provider.',
    required: listed.owned === null,
    content: {
      'application/json': json,
      ...(listed.body === 'form' ? { 'multipart/form-data': form } : {}),
    },
  };
}

function contentOf(listed: ListedEndpoint): OpenApiJson {
  if (/\/(?:content|speech)$/.test(listed.path)) {
    return { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };
  }
  const json = { 'application/json': { schema: inferenceResponse(listed) } };
  const streams = listed.method === 'POST' && listed.responseTexts !== null;
  return streams ? { ...json, 'text/event-stream': { schema: { type: 'string' } } } : json;
}

/** Names the parameters after what they identify: `/threads/{threadId}/runs/{runId}`. */
function namedTemplate(template: string): string {
  const words = template.split('/');
  return words
    .map((word, at) => {
      if (!word.startsWith('{')) return word;
      const before = words[at - 1]!;
      const isModel = word.startsWith('{model') || before === 'models';
      return isModel ? `{model}${word.replace(/^[^}]*\}/, '')}` : `{${idName(before)}}`;
    })
    .join('/');
}

/** `batchId` for `batches`, `vectorStoreId` for `vector_stores`. */
function idName(collection: string): string {
  const singular = collection
    .replace(/(?<=ch)es$/, '')
    .replace(/ies$/, 'y')
    .replace(/s$/, '');
  return `${singular.replaceAll(/[_-](\w)/g, (_, letter: string) => letter.toUpperCase())}Id`;
}
