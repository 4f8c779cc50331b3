/** Reads bodies in the forms of Amazon Bedrock and Vertex AI: messages of Anthropic with a version, and Converse. */
import type { IncomingMessage } from 'node:http';
import type { PathAction } from '../../model/endpoints/path-action.ts';
import { isObject } from '../../model/json/read-object.ts';
import type { Json } from '../../upstream/documents/document-node.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { ChangedMembers } from './gemini-members.ts';

type WithHeaders = Pick<IncomingMessage, 'headers'>;

/** Marks a body as messages of Anthropic; newer SDKs send the version of Anthropic itself. */
const versionPattern = /^(?:bedrock-|vertex-)?\d{4}-\d{2}-\d{2}$/;

/**
 * Removes the version, moves betas to the header, and adds model and stream.
 *
 * @throws GatewayError for a body that has no messages of Anthropic, or that contradicts the path
 */
export function claudeMembers(
  action: PathAction,
  params: Json,
  request: WithHeaders,
): ChangedMembers {
  const { form, model, isStream } = action;
  requireVersion(params, form);
  const changes = new Map<string, unknown>([['anthropic_version', undefined]]);
  if (params.anthropic_beta !== undefined) {
    addBetas(params.anthropic_beta, request);
    changes.set('anthropic_beta', undefined);
  }
  requireAgreement(action, params);
  if (model !== null) changes.set('model', model);
  if (isStream) changes.set('stream', true);
  return { params: withChanges(params, changes), changes };
}

/**
 * Adds model and stream.
 *
 * @throws GatewayError for a body that contradicts the path, or a model that is a stored prompt
 */
export function converseMembers(action: PathAction, params: Json): ChangedMembers {
  const { model, isStream } = action;
  requireAgreement(action, params);
  if (model!.includes(':prompt/') || params.promptVariables !== undefined) {
    const message = 'Prompts that Bedrock stores are not served: send their messages';
    throw new GatewayError('invalid_request', message, 'promptVariables');
  }
  const changes = new Map<string, unknown>([['model', model]]);
  if (isStream) changes.set('stream', true);
  return { params: withChanges(params, changes), changes };
}

/** A request whose tokens are counted. */
interface CountedRequest {
  readonly form: 'count-tokens' | 'count-converse';
  readonly body: Buffer;
}

/**
 * Returns the request of InvokeModel or Converse whose tokens are counted.
 *
 * @throws GatewayError for any other input
 */
export function countedRequest({ input, ...others }: Json): CountedRequest {
  const { invokeModel, converse, ...forms } = Object(input) as Json;
  const { body, ...rest } = Object(invokeModel) as Json;
  const surplus = [others, forms, rest].flatMap((members) => Object.keys(members));
  if (surplus.length === 0 && isObject(converse) && invokeModel === undefined) {
    return { form: 'count-converse', body: Buffer.from(JSON.stringify(converse)) };
  }
  const isEncoded = typeof body === 'string' && /^[\w+/]*=*$/.test(body);
  if (surplus.length === 0 && isEncoded && converse === undefined) {
    return { form: 'count-tokens', body: Buffer.from(body, 'base64') };
  }
  const message =
    'Tokens are counted for input.converse, or for input.invokeModel.body, a request of messages in base64';
  throw new GatewayError('invalid_request', message, 'input');
}

function requireVersion({ anthropic_version: version }: Json, form: string): void {
  if (typeof version === 'string' && versionPattern.test(version)) return;
  const example = form.includes('raw') ? 'vertex-2023-10-16' : 'bedrock-2023-05-31';
  const others =
    form === 'invoke'
      ? '; other models are served by converse, embeddings and rankings by the members that Titan, Nova and Cohere document'
      : '';
  const message = `The body must be messages of Anthropic with the anthropic_version ${example}${others}`;
  throw new GatewayError('invalid_request', message, 'anthropic_version');
}

/** The body may repeat what the path says. */
function requireAgreement({ model, isStream }: PathAction, params: Json): void {
  if (model !== null && params.model !== undefined && params.model !== model) {
    const message = 'The path names the model; remove model from the body';
    throw new GatewayError('invalid_request', message, 'model');
  }
  if (params.stream !== undefined && params.stream !== isStream) {
    const message = 'The path decides about streams; remove stream from the body';
    throw new GatewayError('invalid_request', message, 'stream');
  }
}

function addBetas(sent: unknown, { headers }: WithHeaders): void {
  const isList = Array.isArray(sent) && sent.every((one) => /^[\w.-]{1,128}$/.test(String(one)));
  if (!isList) {
    const message = 'anthropic_beta must be a list of names';
    throw new GatewayError('invalid_request', message, 'anthropic_beta');
  }
  const known = [headers['anthropic-beta']].flat().filter((one) => one !== undefined);
  headers['anthropic-beta'] = [...known, ...sent].join(',');
}

function withChanges(params: Json, changes: ReadonlyMap<string, unknown>): Json {
  const members: Record<string, unknown> = { ...params };
  for (const [name, value] of changes) {
    if (value === undefined) delete members[name];
    else members[name] = value;
  }
  return members;
}
