/** Gives a Gemini request the members `model` and `stream`, which other formats have in the body and Gemini in the path. */
import { isObject } from '../../model/json/read-object.ts';
import { type Json, NotTranslatable } from '../../upstream/documents/document-node.ts';
import { withUsualNames } from '../../upstream/gemini/member-names.ts';
import { GatewayError } from '../transfer/gateway-error.ts';

/** The members of a request, and the changes of its body that lead to them. */
export interface ChangedMembers {
  readonly params: Json;
  readonly changes: Map<string, unknown>;
  /** Canonical path that the body selects; absent where the path of the request decides. */
  readonly path?: string;
}

/**
 * Adds model and stream to the members of a Gemini request.
 *
 * @throws GatewayError for a body whose meaning differs from that of the path, or that has a member in two spellings
 */
export function geminiMembers(model: string, isStream: boolean, params: Json): ChangedMembers {
  const usual = usualMembers(params);
  requireSameModel(usual, model);
  if (usual.stream !== undefined) {
    const message = 'The path decides about streams; remove stream from the body';
    throw new GatewayError('invalid_request', message, 'stream');
  }
  const changes = new Map<string, unknown>([['model', model]]);
  if (isStream) changes.set('stream', true);
  for (const name of Object.keys(params))
    if (!Object.hasOwn(usual, name)) changes.set(name, undefined);
  for (const [name, value] of Object.entries(usual)) {
    if (name !== 'model' && value !== params[name]) changes.set(name, value);
  }
  const withModels = withoutInnerModels(usual, model, changes);
  const members: Record<string, unknown> = { ...withModels, model };
  if (isStream) members.stream = true;
  return { params: members, changes };
}

function usualMembers(params: Json): Json {
  try {
    return withUsualNames(params);
  } catch (thrown) {
    if (!(thrown instanceof NotTranslatable)) throw thrown;
    const { message, path } = thrown;
    throw new GatewayError('invalid_request', message, path, { cause: thrown });
  }
}

function requireSameModel({ model }: Json, expected: string, place = 'model'): void {
  if (model === undefined || model === expected || model === `models/${expected}`) return;
  const message = `${place} must name the model of the path, ${JSON.stringify(`models/${expected}`)}`;
  throw new GatewayError('invalid_request', message, place);
}

/** Requests inside of the body repeat the model, which the provider receives with the changes of the config. */
function withoutInnerModels(members: Json, model: string, changes: Map<string, unknown>): Json {
  const { requests, generateContentRequest: counted } = members;
  const inner: Record<string, unknown> = {};
  if (Array.isArray(requests)) {
    inner.requests = requests.map((one: unknown, at) => {
      if (!isObject(one)) return one;
      requireSameModel(one, model, `requests[${at}].model`);
      const { model: _, ...rest } = one;
      return rest;
    });
  }
  if (isObject(counted)) {
    requireSameModel(counted, model, 'generateContentRequest.model');
    const { model: _, ...rest } = counted;
    inner.generateContentRequest = rest;
  }
  for (const [name, value] of Object.entries(inner)) changes.set(name, value);
  return { ...members, ...inner };
}
