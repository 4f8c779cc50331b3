/** Defines how a check asks a service about texts: limits, requests, and the verdict in a response. */
import type { CallRequest, ProviderHeaders } from '../../upstream/call.ts';
import type { CheckSubject } from '../check.ts';

export interface TextLimit {
  /** UTF-16 code units, or bytes of UTF-8. */
  readonly unit: 'characters' | 'bytes';
  /** Longest text. */
  readonly max: number;
  /** All texts of one request; the longest text by default. */
  readonly totalMax?: number;
}

/** A part of a text that is replaced. */
export interface ServiceSpan {
  /** UTF-16 code units from the start of the text. */
  readonly from: number;
  readonly to: number;
  readonly by: string;
}

/** How a service changes one text; null for an unchanged text. */
export type TextChange =
  | { readonly spans: readonly ServiceSpan[] }
  | { readonly text: string }
  | null;

export interface ServiceVerdict {
  readonly passes: boolean;
  /** Names of what was found, as the service names it. */
  readonly findings: readonly string[];
  /** Reason in the words of the service, for the results. */
  readonly reason?: string | undefined;
  /** One for each text; absent if the service changes none. */
  readonly changes?: readonly TextChange[] | undefined;
}

/** Signs requests with the credentials of an account. */
export interface RequestSigner {
  /** Differs between accounts; contains no secret. */
  readonly mark: string;
  sign(call: CallRequest): Promise<CallRequest>;
  /** Whether another signature may succeed where this response refuses the one of the request. */
  renew(response: { readonly status: number; readonly headers: ProviderHeaders }): boolean;
}

/** A model at a provider of the tenant. */
export interface ServiceModel {
  /** `@` and the id of the provider. */
  readonly provider: string;
  /** Differs between versions of the account; contains no secret. */
  readonly mark: string;
  /** Path below `/v1`. */
  readonly path: string;
}

export interface ServiceRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Everything that decides the verdict. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Members of the body that differ between requests with the same verdict, such as an id. */
  readonly perRequest?: Readonly<Record<string, unknown>>;
  readonly signer?: RequestSigner | undefined;
  /** Set for a model that is called through a provider of the tenant, which adds its own credentials. */
  readonly model?: ServiceModel | undefined;
  /** Which of the formats of the check the request has; absent if there is one. */
  readonly format?: string | undefined;
}

/** One service with the parameters of one check. */
export interface RemoteService {
  /** Name in messages. */
  readonly name: string;
  readonly limit: TextLimit;
  /** Most texts of one request. */
  readonly textsMax: number;
  /** The side that the service judges; absent for both. */
  readonly side?: CheckSubject['side'] | undefined;
  /** Whether texts are judged one by one, so that they can be changed; otherwise they are joined. */
  readonly changesTexts: boolean;
  /** Selects and shortens the texts of the subject; all of its passages by default. */
  readonly select?: (subject: CheckSubject) => readonly SelectedText[];
  /** @throws CheckError when the parameters name no account */
  request(
    texts: readonly string[],
    subject: CheckSubject,
  ): ServiceRequest | Promise<ServiceRequest>;
  /** Reads the verdict on the texts of a request. @throws CheckError for any other response */
  read(
    answer: Readonly<Record<string, unknown>>,
    texts: readonly string[],
    request: ServiceRequest,
  ): ServiceVerdict;
}

/** A part of a passage that a service judges. */
export interface SelectedText {
  readonly text: string;
  /** Index in the passages of the subject; null for a passage that the guardrail cannot change. */
  readonly passage: number | null;
  /** Position of the text in the passage. */
  readonly from: number;
}
