/** Knows which requests come to the listener for inference and are the Admin API's, since clients know one address. */
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

/** Says the key by the one header that the Admin API takes it by, and nothing else that could be one. */
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
