/** Defines the errors of the gateway itself and their formats for the SDKs of OpenAI, Anthropic, Google and AWS (docs/reference/inference.md, Errors). */

import type { RefusedCredential } from '../../auth/refused-credentials.ts';
import { rpcStatus } from '../../model/services/rpc-status.ts';
import { awsErrorText, flatErrorText } from './flat-error.ts';

/** Status and published type of each code. */
export const gatewayErrors = {
  invalid_request: { status: 400, type: 'invalid_request_error' },
  invalid_json: { status: 400, type: 'invalid_request_error' },
  invalid_config: { status: 400, type: 'invalid_request_error' },
  config_not_found: { status: 400, type: 'invalid_request_error' },
  config_override_forbidden: { status: 400, type: 'invalid_request_error' },
  inline_config_blocked: { status: 400, type: 'invalid_request_error' },
  inline_provider_blocked: { status: 400, type: 'invalid_request_error' },
  inline_custom_host_blocked: { status: 400, type: 'invalid_request_error' },
  inline_forward_headers_blocked: { status: 400, type: 'invalid_request_error' },
  provider_missing: { status: 400, type: 'invalid_request_error' },
  provider_unknown: { status: 400, type: 'invalid_request_error' },
  custom_host_refused: { status: 400, type: 'invalid_request_error' },
  not_translatable: { status: 400, type: 'invalid_request_error' },
  no_target: { status: 400, type: 'invalid_request_error' },
  invalid_api_key: { status: 401, type: 'authentication_error' },
  api_key_expired: { status: 401, type: 'authentication_error' },
  invalid_token: { status: 401, type: 'authentication_error' },
  token_expired: { status: 401, type: 'authentication_error' },
  model_not_allowed: { status: 403, type: 'permission_error' },
  price_unknown: { status: 403, type: 'permission_error' },
  usage_unbounded: { status: 403, type: 'permission_error' },
  provider_expired: { status: 403, type: 'permission_error' },
  provider_not_allowed: { status: 403, type: 'permission_error' },
  scope_missing: { status: 403, type: 'permission_error' },
  prompt_not_shown: { status: 403, type: 'permission_error' },
  not_found: { status: 404, type: 'not_found_error' },
  endpoint_unknown: { status: 404, type: 'not_found_error' },
  method_not_allowed: { status: 405, type: 'invalid_request_error' },
  conflict: { status: 409, type: 'invalid_request_error' },
  request_timeout: { status: 408, type: 'timeout_error' },
  usage_limit_exceeded: { status: 412, type: 'usage_limit_exceeded' },
  body_too_large: { status: 413, type: 'request_too_large' },
  unsupported_encoding: { status: 415, type: 'invalid_request_error' },
  upgrade_required: { status: 426, type: 'invalid_request_error' },
  upgrade_not_supported: { status: 426, type: 'invalid_request_error' },
  headers_too_large: { status: 431, type: 'request_too_large' },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  answer_not_translatable: { status: 502, type: 'api_error' },
  answer_too_large: { status: 502, type: 'api_error' },
  answer_unreadable: { status: 502, type: 'api_error' },
  upstream_unreachable: { status: 502, type: 'api_error' },
  secret_unavailable: { status: 502, type: 'api_error' },
  token_unavailable: { status: 502, type: 'api_error' },
  internal_error: { status: 500, type: 'api_error' },
  unavailable: { status: 503, type: 'overloaded_error' },
} as const;

export type GatewayErrorCode = keyof typeof gatewayErrors;

/** Meant for the caller: the message is public and quotes no credential. */
export class GatewayError extends Error {
  override name = 'GatewayError';
  readonly code: GatewayErrorCode;
  /** Header, parameter or JSON path that caused the error; null for none. */
  readonly param: string | null;
  /** Milliseconds after which a retry may succeed; null when unknown. */
  readonly retryAfterMs: number | null;
  /** The rejected credential; null for any other error. */
  readonly refused: RefusedCredential | null;

  constructor(
    code: GatewayErrorCode,
    message: string,
    param: string | null = null,
    options?: ErrorOptions & {
      readonly retryAfterMs?: number | null;
      readonly refused?: RefusedCredential;
    },
  ) {
    super(message, options);
    this.code = code;
    this.param = param;
    this.retryAfterMs = options?.retryAfterMs ?? (code === 'unavailable' ? 1_000 : null);
    this.refused = options?.refused ?? null;
  }

  get status(): number {
    return gatewayErrors[this.code].status;
  }
}

export type GatewayErrorForm = 'openai' | 'anthropic' | 'gemini' | 'aws' | 'flat';

/** Returns the response body in the given format. */
export function gatewayErrorBody(error: GatewayError, form: GatewayErrorForm): string {
  const { code, message, param } = error;
  const { type } = gatewayErrors[code];
  if (form === 'gemini') return geminiErrorText(error);
  if (form === 'aws') return awsErrorText(message, error.status);
  if (form === 'flat') return flatErrorText({ message, type, param, code });
  if (code.startsWith('inline_')) {
    return JSON.stringify({ status: 'failure', error: { code, message, field: param }, message });
  }
  const isThread = code === 'not_found' && param === 'previous_message_id';
  // With this code, clients send the whole conversation again.
  const details = isThread ? { details: { error_code: 'thread_not_found' } } : {};
  return form === 'anthropic'
    ? JSON.stringify({ type: 'error', error: { type, message, code, param, ...details } })
    : JSON.stringify({ error: { message, type, param, code } });
}

/** Google names the reason of an error in its details. */
function geminiErrorText({ code, message, param, status }: GatewayError): string {
  const info = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: code,
    domain: 'gatewright',
    metadata: param === null ? {} : { param },
  };
  const error = { code: status, message, status: rpcStatus(status), details: [info] };
  return JSON.stringify({ error });
}
