/** Refuses requests that are not in the catalogue of endpoints where something would have to be checked in them. */
import type { Limit } from '../../ledger/limit.ts';
import type { ConfigLeaf } from '../../model/configs/config-tree.ts';
import { endpointAt } from '../../model/endpoints/catalogue.ts';
import type { Exchange } from '../callers/exchange.ts';
import { isCallerAccount } from '../targets/caller-account.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { GatewayError } from '../transfer/gateway-error.ts';

/** @throws GatewayError for an endpoint that guardrails cannot judge */
export function requireJudgeable(exchange: Exchange): void {
  if (isListed(exchange)) return;
  throw unknownEndpoint('guardrails of the caller could not judge the request');
}

/**
 * Permits an endpoint that is not in the catalogue with the caller's own account, and where the integration of one
 * workspace names it, in both cases only without limits and model rules.
 *
 * @throws GatewayError for any other such endpoint
 */
export function requireServed(
  exchange: Exchange,
  leaf: ConfigLeaf,
  target: ResolvedTarget,
  limits: readonly Limit[],
): void {
  if (isListed(exchange)) return;
  const { workspaceProvider } = target;
  if (limits.length > 0) throw unknownEndpoint('limits of the caller could not count the request');
  if (workspaceProvider?.allowsAnyModel === false) {
    throw unknownEndpoint('the provider allows only some models');
  }
  if (isCallerAccount(target, leaf, exchange)) return;
  if (workspaceProvider?.rawPaths.includes(exchange.path) === true) return;
  throw unknownEndpoint('callers share the account at the provider');
}

function isListed({ request, path }: Exchange): boolean {
  return endpointAt(request.method, path) !== null;
}

function unknownEndpoint(reason: string): GatewayError {
  const message = `This method and path are not in the list of endpoints (docs/reference/endpoints.md), and ${reason}`;
  return new GatewayError('endpoint_unknown', message);
}
