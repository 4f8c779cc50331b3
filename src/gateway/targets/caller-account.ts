/** Tells the caller's own account at a provider from accounts that the gateway manages. */
import type { ConfigLeaf } from '../../model/configs/config-tree.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { ResolvedTarget } from './resolve-target.ts';

/** Whether the call uses the caller's own account at the provider, which the gateway does not manage. */
export function isCallerAccount(
  { workspaceProvider }: Pick<ResolvedTarget, 'workspaceProvider'>,
  leaf: ConfigLeaf,
  { credential }: Pick<Exchange, 'credential'>,
): boolean {
  return workspaceProvider === null && leaf.settings.apiKey === null && credential !== null;
}
