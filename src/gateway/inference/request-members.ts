/** Reads the members of a body, as JSON or as a form, and refuses bodies that could not be checked. */
import type { IncomingMessage } from 'node:http';
import { endpointAt, publicPath } from '../../model/endpoints/catalogue.ts';
import { interactionsPath, unknownInteractionMember } from '../../model/endpoints/interactions.ts';
import type { JsonBounds } from '../../model/json/json-scan.ts';
import { readFormParams } from '../transfer/form-fields.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { isJsonType, type Params, parseParams } from '../transfer/read-body.ts';
import { requireEmbeddedTexts } from './retrieval-members.ts';

export interface RequestMembers {
  readonly isJson: boolean;
  /** Empty for a body without members. */
  readonly params: Params;
}

const noParams: Params = {};
const noMembers: RequestMembers = { isJson: false, params: noParams };

/**
 * Synchronous for small JSON bodies. `path` is canonical; a path that is not in the catalogue may have any body.
 *
 * @throws GatewayError for a body that the endpoint does not accept
 */
export function readMembers(
  { method, headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  path: string,
  body: Buffer | null,
  bounds: JsonBounds,
): RequestMembers | Promise<RequestMembers> {
  if (body === null) return noMembers;
  if (method !== 'POST') requireNoBody(method, path, body);
  const type = headers['content-type'];
  if (isJsonType(type)) {
    const parsing = parseParams(body, bounds);
    const checked = (params: Params): RequestMembers => {
      if (path === interactionsPath) requireKnownMembers(params);
      requireEmbeddedTexts(path, params);
      return { isJson: true, params };
    };
    return parsing instanceof Promise ? parsing.then(checked) : checked(parsing);
  }
  const endpoint = endpointAt(method, path);
  if (endpoint === null || body.length === 0) return noMembers;
  if (endpoint.body === 'form') {
    return readFormParams(body, type).then((params) => ({ isJson: false, params }));
  }
  const message = `The body of ${method} ${publicPath(endpoint.path)} must be JSON with the content type application/json`;
  throw new GatewayError('invalid_json', message, 'content-type');
}

/** Members in another spelling would be read by the provider, and by nothing here. */
function requireKnownMembers(params: Params): void {
  const unknown = unknownInteractionMember(params);
  if (unknown === null) return;
  const message =
    unknown === 'agent'
      ? 'Agents of the provider call models outside of any limit; name a model'
      : `Interactions at this gateway have no member ${unknown}; leave it out, or spell it as Google documents it`;
  throw new GatewayError('invalid_request', message, unknown);
}

/** Only POST requests of the catalogue have a body. */
function requireNoBody(method: string | undefined, path: string, body: Buffer): void {
  if (body.length === 0 || endpointAt(method, path) === null) return;
  const message = `A ${method} request must not have a body; remove it`;
  throw new GatewayError('invalid_request', message);
}
