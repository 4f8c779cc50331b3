/** Adds the access token of a target to its call. */
import type { Secret } from '../../secret.ts';
import type { CallRequest } from '../../upstream/call.ts';
import type { ResolvedTarget } from './resolve-target.ts';

/** Replaces an authorization header among the integration's own headers. */
export function withToken(target: ResolvedTarget, token: Secret): ResolvedTarget {
  const authorization = `Bearer ${token.reveal()}`;
  const headers = { ...target.call.headers, authorization };
  return { ...target, call: { ...target.call, headers } };
}

/** @throws GatewayError `token_unavailable` */
export async function authorizedCall(target: ResolvedTarget): Promise<CallRequest> {
  const { tokens, signer, call } = target;
  if (signer !== null) return signer.sign(call);
  return tokens === null ? call : withToken(target, await tokens.token(null)).call;
}
