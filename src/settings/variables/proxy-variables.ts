/** Knows the variables that say by which proxy others are reached, under the names that every program reads. */
import * as forms from './forms.ts';
import { optional } from './variable.ts';

export const proxyVariables = {
  HTTP_PROXY: optional(
    'Network',
    forms.proxy,
    'Proxy for what is asked for over http: of the server, a Vault, receivers. Or `http_proxy`.',
    { secret: true },
  ),
  HTTPS_PROXY: optional(
    'Network',
    forms.proxy,
    'Proxy for what is asked for over https, Git included. Or `https_proxy`.',
    { secret: true },
  ),
  NO_PROXY: optional(
    'Network',
    forms.hostList,
    'Hosts that are reached without a proxy; those of this machine always are. Or `no_proxy`.',
  ),
};

/** `HTTP_PROXY` for `http_proxy`; any other name as it is. */
export function usualProxyName(name: string): string {
  const usual = name.toUpperCase();
  return Object.hasOwn(proxyVariables, usual) ? usual : name;
}
