/** Defines the errors of a server: refusals with a code, and a server that cannot be used. */
import { Failure } from '../../failure.ts';

/** An error response of the API: the HTTP status and the fields of the error body. */
export class ApiRefusal extends Error {
  override name = 'ApiRefusal';
  readonly status: number;
  readonly code: string;
  readonly param: string;
  /** Whether an earlier attempt may have been carried out although its response was lost. */
  readonly maybeDone: boolean;

  constructor(status: number, fields: ErrorFields, maybeDone: boolean) {
    super(fields.message);
    this.status = status;
    this.code = fields.code;
    this.param = fields.param;
    this.maybeDone = maybeDone;
  }
}

/** The server cannot be reached, stays overloaded, or rejects the credentials. */
export class Unreachable extends Failure {
  override name = 'Unreachable';
  /** The unreachable server and the reason, independent of the request. */
  readonly reason: string;

  constructor(message: string, options: ErrorOptions & { readonly reason: string }) {
    super('unreachable', message, options);
    this.reason = options.reason;
  }
}

export interface ErrorFields {
  readonly message: string;
  readonly code: string;
  readonly param: string;
}

/** Reads any of the documented error shapes (docs/reference/api.md, Errors; RFC 6749 5.2). */
export function errorFields(body: unknown, status: number): ErrorFields {
  const outer = asRecord(body);
  const inner = typeof outer.error === 'object' ? asRecord(outer.error) : outer;
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  return {
    message:
      text(inner.message) ||
      text(outer.error_description) ||
      text(outer.error) ||
      `status ${status} without an explanation`,
    code: text(inner.code),
    param: text(inner.param),
  };
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
