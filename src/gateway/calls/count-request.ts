/** Counts a request that the gateway itself answers from what it knows of its providers. */
import { limitsOf } from '../metering/limits.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { CallAccount } from './call-account.ts';
import type { CallContext } from './request-context.ts';

/**
 * Counts under the limits of requests, without those of providers, which are for calls of their models.
 *
 * @throws GatewayError when a limit rejects the request
 */
export async function countRequest(
  { services, exchange, config }: CallContext,
  target: ResolvedTarget,
): Promise<void> {
  const { policies, enforcesLimits, limitsBy, ledger, countsAbortedStreams } = services;
  const inForce = await policies.of(exchange.key.organisationId);
  const own = { ...target, workspaceProvider: null };
  const limits = limitsOf(exchange, own, config, inForce, enforcesLimits, limitsBy);
  const ofRequests = limits.filter(({ type }) => type === 'requests');
  await new CallAccount(ledger.open(), countsAbortedStreams).admit(target, ofRequests, exchange);
}
