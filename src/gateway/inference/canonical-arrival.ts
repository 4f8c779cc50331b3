/** Brings the target of an inference request into its canonical form, or states why it is refused. */
import type { IncomingMessage } from 'node:http';
import { type CanonicalTarget, canonicalTarget } from '../../model/endpoints/canonical-target.ts';
import { isReferenceMember } from '../references/owned-references.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { isEvaluatedMember } from '../transfer/read-body.ts';

/**
 * The URL begins with `/v1/`.
 *
 * @throws GatewayError for a path or query that a provider could read differently
 */
export function canonicalArrival({
  method,
  url = '',
}: Pick<IncomingMessage, 'method' | 'url'>): CanonicalTarget {
  const question = url.indexOf('?');
  const path = url.slice('/v1'.length, question < 0 ? undefined : question);
  const query = question < 0 ? '' : url.slice(question);
  const target = canonicalTarget(method, path, query);
  if ('fault' in target) throw new GatewayError('invalid_request', target.fault);
  if (query !== '' && method !== 'GET' && method !== 'HEAD') requireNoMembers(target.query);
  return target;
}

/** Rejects members of a body in the query, because a provider may read them there. */
function requireNoMembers(query: string): void {
  for (const name of new URLSearchParams(query).keys()) {
    const bare = name.replace(/\[.*$/, '');
    if (!isEvaluatedMember(bare) && !isReferenceMember(bare)) continue;
    const message = `The query must not contain ${bare}; send it in the body`;
    throw new GatewayError('invalid_request', message, bare);
  }
}
