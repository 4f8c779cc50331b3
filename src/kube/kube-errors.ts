/** Defines the failures of calls to the Kubernetes API. */
import { Failure } from '../failure.ts';

/** The API rejected the request. */
export class KubeRefusal extends Failure {
  readonly status: number;
  /** The API's `reason`, such as `Conflict`, `AlreadyExists` or `NotFound`; '' when it gives none. */
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super('refusedByGuard', message);
    this.status = status;
    this.reason = reason;
  }
}

/** No response arrived. The request may have been carried out. */
export class KubeUnreachable extends Failure {
  constructor(message: string, options?: ErrorOptions) {
    super('unreachable', message, options);
  }
}

/** Resolves with null when the API rejects the call and `matches` accepts the refusal. */
export async function nullOnRefusal<T>(
  matches: (refusal: KubeRefusal) => boolean,
  call: Promise<T>,
): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof KubeRefusal && matches(error)) return null;
    throw error;
  }
}
