/** Recognises Admin API requests at the inference listener, so that clients need only one address. */
import type { IncomingMessage } from 'node:http';
import { credentialsOf } from './authenticate.ts';
import { ownHeaders } from './exchange.ts';

const paths: Readonly<Record<string, RegExp>> = {
  POST: /^\/v1\/(?:feedback|logs)\/?(?:\?|$)/,
  PUT: /^\/v1\/feedback\/[^/?]+\/?(?:\?|$)/,
};

export function isAdminRequest({ method, url }: IncomingMessage): boolean {
  return paths[method!]?.test(url!) === true;
}

/** Sends the key in the header that the Admin API reads, and removes all other credentials. */
export function setKeyHeader(request: IncomingMessage, headerPrefixes: readonly string[]): void {
  const { key } = credentialsOf(request, ownHeaders(request, headerPrefixes));
  const others = Object.entries(request.headers).filter(
    ([name]) => !/^(?:authorization|x-api-key|cookie)$|^x-[\w-]+-api-key$/.test(name),
  );
  request.headers = {
    ...Object.fromEntries(others),
    ...(key !== null && { 'x-gateway-api-key': key }),
  };
}
