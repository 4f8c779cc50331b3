/** Defines the signature of calls whose provider accepts no bearer credential. */
import type { CallRequest, ProviderHeaders } from '../../upstream/call.ts';
import type { GatewayError } from '../transfer/gateway-error.ts';

/** The head of a response to a signed call. */
export interface SignedResponse {
  readonly status: number;
  readonly headers: ProviderHeaders;
}

/** Signs the calls of one account. */
export interface CallSigner {
  /** Differs between accounts; contains no secret. */
  readonly mark: string;
  /** @throws GatewayError `token_unavailable` */
  sign(call: CallRequest): Promise<CallRequest>;
  /** Whether another signature may succeed where this response refuses the one of `call`. */
  renew(response: SignedResponse): boolean;
  /** Describes why the provider refuses signatures of this gateway; null for any other response. */
  faultOf(response: SignedResponse): GatewayError | null;
}
