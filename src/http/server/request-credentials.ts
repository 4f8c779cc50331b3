/** Extracts the credentials of a request from its headers. */
import type { IncomingMessage } from 'node:http';
import { validationError } from '../../model/wire/validation-error.ts';
import { header, remoteAddressOf } from './endpoint.ts';

/** Never logged. */
export interface RequestCredentials {
  /** The `Authorization` header, or null. */
  readonly authorization: string | null;
  /** The `x-gateway-api-key` or `x-portkey-api-key` header, or null. */
  readonly gatewayKey: string | null;
  /** Null for a request without cookies. */
  readonly browser: BrowserCredentials | null;
  readonly remoteAddress: string;
}

interface BrowserCredentials {
  readonly cookies: string;
  readonly origin: string | null;
  /** The `host` header, or null. */
  readonly host: string | null;
  /** Whether the method is neither GET nor HEAD. */
  readonly isChange: boolean;
  /** The `gatewright-workspace` header, or null. */
  readonly workspace: string | null;
}

/** @throws ApiError `invalid` for two different API keys */
export function requestCredentialsOf(request: IncomingMessage): RequestCredentials {
  const key = header(request, 'x-gateway-api-key');
  const olderKey = header(request, 'x-portkey-api-key');
  if (key !== null && olderKey !== null && key !== olderKey) {
    throw validationError({ path: [], message: 'two different API keys were sent' });
  }
  return {
    authorization: header(request, 'authorization'),
    gatewayKey: key ?? olderKey,
    browser: browserCredentialsOf(request),
    remoteAddress: remoteAddressOf(request),
  };
}

function browserCredentialsOf(request: IncomingMessage): BrowserCredentials | null {
  const cookies = header(request, 'cookie');
  if (cookies === null) return null;
  const isChange = request.method !== 'GET' && request.method !== 'HEAD';
  const workspace = header(request, 'gatewright-workspace');
  const [origin, host] = [header(request, 'origin'), header(request, 'host')];
  return { cookies, origin, host, isChange, workspace };
}
