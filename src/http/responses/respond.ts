/** Renders handler results and errors as HTTP responses, in each error format that clients expect. */
import { ApiError, type ErrorKind, errorBody, flatErrorBody } from '../../model/wire/errors.ts';
import { StreamedList } from '../../model/wire/streamed-list.ts';
import { SlicedText } from '../connections/sliced-text.ts';
import {
  type CredentialKind,
  type ErrorForm,
  type HeaderLines,
  RawReply,
  Reply,
} from '../routes/route.ts';

/** Status, body text (null for none) and the headers beyond the common ones. */
export interface RenderedResponse {
  readonly status: number;
  readonly text: string | Buffer | SlicedText | null;
  readonly headers: HeaderLines;
}

/** Headers of every response: forbid caching by proxies and content sniffing by browsers. */
export const commonHeaders = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

export function renderResult(
  result: unknown,
  successStatus: number,
): RenderedResponse | Promise<RenderedResponse> {
  if (result instanceof RawReply) return result;
  if (result instanceof StreamedList) return renderList(result, successStatus);
  if (result instanceof Reply && result.body instanceof StreamedList) {
    return renderList(result.body, result.status, result.headers);
  }
  if (!(result instanceof Reply)) {
    return { status: successStatus, text: JSON.stringify(result), headers: {} };
  }
  const { status, body, headers } = result;
  return { status, text: JSON.stringify(body), headers };
}

/**
 * Sends a list of one slice as a whole, a longer one slice by slice. Two slices are made before the
 * headers are sent, so that an error at the start can still become an error response.
 */
async function renderList(
  list: StreamedList<unknown>,
  status: number,
  headers: RenderedResponse['headers'] = {},
): Promise<RenderedResponse> {
  const slices = list.slices();
  const first = await slices.next();
  const second = await slices.next();
  if (second.done) return { status, text: first.value ?? '', headers };
  return {
    status,
    text: new SlicedText(concatenate([first.value!, second.value], slices)),
    headers,
  };
}

async function* concatenate(
  first: readonly string[],
  rest: AsyncGenerator<string, void>,
): AsyncGenerator<string, void> {
  try {
    yield* first;
    yield* rest;
  } finally {
    await rest.return();
  }
}

/** A 401 names the scheme that the route accepts, as RFC 9110 requires. */
export function errorResponse(
  error: ApiError,
  form: ErrorForm,
  accepts: readonly CredentialKind[],
): RenderedResponse {
  const headers: Record<string, string> = {};
  if (error.kind === 'unauthorized' && accepts.length > 0) {
    headers['www-authenticate'] = accepts.includes('client')
      ? 'Basic realm="gatewright"'
      : 'Bearer';
  }
  // Not for an unknown outcome: an automatic retry could carry out the change twice.
  if (error.kind === 'unavailable') headers['retry-after'] = '1';
  return { status: error.status, text: JSON.stringify(bodyOf(error, form)), headers };
}

function bodyOf(error: ApiError, form: ErrorForm): unknown {
  if (form === 'flat') return flatErrorBody(error);
  if (form === 'oauth') {
    return { error: oauthCodes[error.kind] ?? 'invalid_request', error_description: error.message };
  }
  if (form === 'scim') return scimErrorBody(error);
  return errorBody(error);
}

function scimErrorBody({ kind, status, message, param }: ApiError): unknown {
  const invalid = param === 'filter' ? 'invalidFilter' : 'invalidValue';
  const scimType = { invalid, conflict: 'uniqueness' }[String(kind)];
  const schemas = ['urn:ietf:params:scim:api:messages:2.0:Error'];
  return { schemas, status: String(status), ...(scimType && { scimType }), detail: message };
}

/** Codes of RFC 6749 5.2 and, for server errors, 4.1.2.1. */
const oauthCodes: Partial<Record<ErrorKind, string>> = {
  unauthorized: 'invalid_client',
  forbidden: 'unauthorized_client',
  rateLimited: 'temporarily_unavailable',
  unavailable: 'temporarily_unavailable',
  outcomeUnknown: 'temporarily_unavailable',
  internal: 'server_error',
};

/** `classify` selects the kind of an error that is not an ApiError; its text never leaves the server. */
export function toApiError(thrown: unknown, classify: (error: unknown) => ErrorKind): ApiError {
  if (thrown instanceof ApiError) return thrown;
  return new ApiError(classify(thrown), undefined, '', { cause: thrown });
}
