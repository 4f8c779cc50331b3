/** Gives requests whose path names model and action the members that other formats have in the body. */
import type { IncomingMessage } from 'node:http';
import type { PathAction } from '../../model/endpoints/path-action.ts';
import type { JsonBounds } from '../../model/json/json-scan.ts';
import { converseCountPath } from '../../model/services/bedrock-models.ts';
import { changedBody } from '../transfer/changed-body.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { type Params, parseParams } from '../transfer/read-body.ts';
import { claudeMembers, converseMembers, countedRequest } from './cloud-members.ts';
import { type ChangedMembers, geminiMembers } from './gemini-members.ts';
import type { RequestMembers } from './request-members.ts';
import { invokedRetrieval, predictMembers } from './retrieval-members.ts';

type WithHeaders = Pick<IncomingMessage, 'headers'>;

interface SentMembers extends RequestMembers {
  readonly body: Buffer | null;
  /** Canonical path that the body selects; absent where the path of the request decides. */
  readonly path?: string;
}

/** SDKs of AWS send the body of InvokeModel as bytes, although it is JSON. */
export function nameJsonType(action: PathAction | null, { headers }: WithHeaders): void {
  if (action?.form === 'invoke' && headers['content-type'] === 'application/octet-stream') {
    headers['content-type'] = 'application/json';
  }
}

/**
 * Returns the members as they are for a request whose path names no model. Betas in a body become a header of
 * `request`, as in other requests of messages.
 *
 * @throws GatewayError for a body whose meaning differs from that of the path
 */
export function withActionMembers(
  action: PathAction | null,
  sent: SentMembers,
  request: WithHeaders,
  bounds: JsonBounds,
): SentMembers | Promise<SentMembers> {
  if (action === null) return sent;
  const { body, params, isJson } = sent;
  if (body === null || !isJson) {
    throw new GatewayError('invalid_json', 'The body must be a JSON object');
  }
  if (action.form !== 'count-tokens') return changed(action, body, params, request);
  const { form, body: counted } = countedRequest(params);
  const inner = { ...action, form };
  const reading = parseParams(counted, bounds);
  return reading instanceof Promise
    ? reading.then((members) => changed(inner, counted, members, request))
    : changed(inner, counted, reading, request);
}

function changed(
  action: PathAction,
  body: Buffer,
  sent: Params,
  request: WithHeaders,
): SentMembers {
  const { params, changes, path } = membersOf(action, sent, request);
  const members = { isJson: true, params, body: changedBody(body, changes) };
  return path === undefined ? members : { ...members, path };
}

function membersOf(action: PathAction, params: Params, request: WithHeaders): ChangedMembers {
  switch (action.form) {
    case 'gemini':
      return geminiMembers(action.model!, action.isStream, params);
    case 'predict':
      return predictMembers(action.model!, params);
    case 'converse':
      return converseMembers(action, params);
    case 'count-converse':
      return { ...converseMembers(action, params), path: converseCountPath };
    case 'invoke':
      return invokedRetrieval(action, params) ?? claudeMembers(action, params, request);
    default:
      return claudeMembers(action, params, request);
  }
}
