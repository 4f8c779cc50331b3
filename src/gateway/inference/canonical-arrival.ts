/** Brings the target of an inference request into its canonical form, or states why it is refused. */
import type { IncomingMessage } from 'node:http';
import { type CanonicalTarget, canonicalTarget } from '../../model/endpoints/canonical-target.ts';
import { endpointAt, isRootedPath, publicPath } from '../../model/endpoints/catalogue.ts';
import { type ActionTarget, cloudTarget } from '../../model/endpoints/cloud-target.ts';
import { geminiTarget } from '../../model/endpoints/gemini-target.ts';
import { interactionsTarget } from '../../model/endpoints/interactions.ts';
import { commonQueryMembers } from '../../model/endpoints/query-members.ts';
import { conversePath } from '../../model/services/bedrock-models.ts';
import { didYouMean } from '../../suggest.ts';
import { isReferenceMember } from '../references/owned-references.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { isEvaluatedMember } from '../transfer/read-body.ts';
import { parsePromptPath } from './prompts.ts';

type Method = IncomingMessage['method'];

/**
 * Prefixes of paths below which inference is served. `/v1beta1` has what Google's clients send to Vertex AI, `/v2` what
 * Cohere's send.
 */
const prefixes = ['/v1/', '/v1beta/', '/v1beta1/', '/v1alpha/', '/v2/', '/model/'];

export function isInferenceUrl(url: string): boolean {
  return prefixes.some((prefix) => url.startsWith(prefix));
}

/**
 * The URL is one of {@link isInferenceUrl}.
 *
 * @throws GatewayError for a path or query that a provider could read differently
 */
export function canonicalArrival({
  method,
  url = '',
}: Pick<IncomingMessage, 'method' | 'url'>): CanonicalTarget | ActionTarget {
  const question = url.indexOf('?');
  const end = question < 0 ? undefined : question;
  const query = question < 0 ? '' : url.slice(question);
  const whole = url.slice(0, end);
  const named = geminiTarget(method, whole, query) ?? cloudTarget(method, whole, query);
  const own = interactionsTarget(whole);
  const isRooted = own !== null || !(url.startsWith('/v1/') || cohereSame.test(whole));
  const path = own ?? whole.slice(isRooted ? 0 : 3);
  const target = named ?? canonicalTarget(method, path, query);
  if ('fault' in target) throw new GatewayError('invalid_request', target.fault);
  if (named === null) requireListedPrefix(method, target.path, isRooted);
  if (target.query !== '') requireKnownQuery(method, target);
  return target;
}

/** Requests of Cohere's second version whose bodies are those of the endpoint below `/v1`. */
const cohereSame = /^\/v2\/(?:rerank|chat)$/;

/** Outside of `/v1` nothing is served but what the catalogue lists, and that nowhere else. */
function requireListedPrefix(method: Method, path: string, isRooted: boolean): void {
  const isListed = isRootedPath(path) && endpointAt(method, path) !== null;
  // Converse is served with a model in its path only.
  if (isRooted === isListed && path !== conversePath) return;
  const message = `There is no such method and path${isRooted ? ` below ${path.split('/', 2).join('/')}` : ''} (docs/reference/endpoints.md)`;
  throw new GatewayError('endpoint_unknown', message);
}

/** Rejects what the endpoint does not list. Requests outside the catalogue may have any query. */
function requireKnownQuery(method: Method, { path, query }: CanonicalTarget): void {
  const listed = queryAt(method, path);
  for (const name of new URLSearchParams(query).keys()) {
    const bare = name.replace(/\[.*$/, '');
    if (listed?.members.includes(bare) || commonQueryMembers.includes(bare)) continue;
    const isOfBody = isEvaluatedMember(bare) || isReferenceMember(bare);
    if (isOfBody && method !== 'GET' && method !== 'HEAD') {
      const message = `The query must not contain ${bare}; send it in the body`;
      throw new GatewayError('invalid_request', message, bare);
    }
    if (listed !== null) throw unknownMember(bare, listed);
  }
}

interface ListedQuery {
  /** For messages; without ids of the caller. */
  readonly endpoint: string;
  readonly members: readonly string[];
}

/** Null for a request outside the catalogue. */
function queryAt(method: Method, path: string): ListedQuery | null {
  const listed = endpointAt(method, path);
  if (listed !== null) {
    return { endpoint: `${listed.method} ${publicPath(listed.path)}`, members: listed.query };
  }
  const prompt = parsePromptPath(method, path);
  return prompt && { endpoint: `POST /v1/prompts/{id}/${prompt.action}`, members: [] };
}

/** Repeats only names that cannot be credentials. */
function unknownMember(name: string, { endpoint, members }: ListedQuery): GatewayError {
  const isPlain = /^[a-z_.-]{1,40}$/i.test(name);
  const hint = isPlain ? didYouMean(name, [...commonQueryMembers, ...members]) : undefined;
  const message = `${endpoint} has no query member${isPlain ? ` ${name}` : ' of this name'}; ${hint ?? 'remove it'}`;
  return new GatewayError('invalid_request', message, isPlain ? name : null);
}
