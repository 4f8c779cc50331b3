/** Declares the conventional environment variables of HTTP proxies. */
import * as forms from './forms.ts';
import { optional } from './variable.ts';

export const proxyVariables = {
  HTTP_PROXY: optional(
    'Network',
    forms.proxy,
    'Proxy for http requests: to the server, a Vault, receivers of notifications. Also `http_proxy`.',
    { secret: true },
  ),
  HTTPS_PROXY: optional(
    'Network',
    forms.proxy,
    'Proxy for https requests, including Git. Also `https_proxy`.',
    { secret: true },
  ),
  NO_PROXY: optional(
    'Network',
    forms.hostList,
    'Hosts that are reached without a proxy; local addresses always are. Also `no_proxy`.',
  ),
};

/** Maps `http_proxy` to `HTTP_PROXY` and leaves other names unchanged. */
export function usualProxyName(name: string): string {
  const usual = name.toUpperCase();
  return Object.hasOwn(proxyVariables, usual) ? usual : name;
}
