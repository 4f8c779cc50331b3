/** Knows what is sent to a Vault, what comes back, and how a refusal is told. */
import { Failure } from '../failure.ts';
import type { JsonResponse } from '../remote/json-exchange.ts';

export interface VaultRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below `/v1/`, each part already escaped: `secret/data/support/bot`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export type VaultResponse = Pick<JsonResponse, 'status' | 'body'>;

/** Vault has answered that it will not. */
export class VaultRefusal extends Failure {
  readonly status: number;

  constructor(status: number, message: string) {
    super('refusedByGuard', message);
    this.status = status;
  }
}

/** What Vault says of a refusal: `permission denied`. */
export function errorsIn(body: unknown): string[] {
  const { errors } = (body ?? {}) as { readonly errors?: unknown };
  return Array.isArray(errors) ? errors.map((one) => String(one).trim()) : [];
}

/** @param what was not done: `read secret/support/bot` */
export function refusal({ status, body }: VaultResponse, what: string): VaultRefusal {
  const words = errorsIn(body).join('; ').slice(0, 500);
  return new VaultRefusal(
    status,
    `Vault does not ${what} (${status})${words === '' ? '' : `: ${words}`}`,
  );
}
