/** Defines requests to a Vault, its responses and its refusals. */
import { Failure } from '../failure.ts';
import type { JsonResponse } from '../remote/json-exchange.ts';

export interface VaultRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below `/v1/`, with each part escaped: `secret/data/support/bot`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export type VaultResponse = Pick<JsonResponse, 'status' | 'body'>;

/** Vault rejected the request. */
export class VaultRefusal extends Failure {
  readonly status: number;

  constructor(status: number, message: string) {
    super('refusedByGuard', message);
    this.status = status;
  }
}

/** Returns the error messages in a response: `permission denied`. */
export function errorsIn(body: unknown): string[] {
  const { errors } = (body ?? {}) as { readonly errors?: unknown };
  return Array.isArray(errors) ? errors.map((message) => String(message).trim()) : [];
}

/** @param operation that was rejected: `read secret/support/bot` */
export function vaultRefusal({ status, body }: VaultResponse, operation: string): VaultRefusal {
  const messages = errorsIn(body).join('; ').slice(0, 500);
  return new VaultRefusal(
    status,
    `Vault does not ${operation} (${status})${messages === '' ? '' : `: ${messages}`}`,
  );
}
