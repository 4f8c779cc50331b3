/** Defines how checks call models through providers of the tenant, so that the calls are charged and logged. */
import type { OutboundResponse } from '../upstream/outbound.ts';

export interface CheckModelCall {
  /** `@` and the slug or id of a provider of the workspace. */
  readonly provider: string;
  /** Path below `/v1`, such as `/moderations`. */
  readonly path: string;
  /** Members of the body. */
  readonly params: Readonly<Record<string, unknown>>;
  /** From the admission to the last byte of the response. */
  readonly timeoutMs: number;
}

export interface CheckModelCalls {
  /**
   * Sends one call under the limits of the judged request, and charges it once.
   *
   * @throws CallNotSent when a limit or a rule of the provider forbids the call
   * @throws OutboundFailure when there is no complete response
   */
  post(call: CheckModelCall): Promise<OutboundResponse>;
}

/** Reports that the gateway itself refused a call, which says nothing about the service. */
export class CallNotSent extends Error {
  override name = 'CallNotSent';
}
