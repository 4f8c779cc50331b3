/** Knows how answers and errors are written, in each of the three forms that clients read. */
import { ApiError, type ErrorKind, errorBody, flatErrorBody } from '../model/errors.ts';
import { LongList } from '../model/long-list.ts';
import { type CredentialKind, type ErrorForm, type HeaderLines, RawReply, Reply } from './route.ts';
import { SlicedText } from './sliced-text.ts';

/** What goes out: the status, the text (or null for none) and the headers beyond the usual. */
export interface Answer {
  readonly status: number;
  readonly text: string | Buffer | SlicedText | null;
  readonly headers: HeaderLines;
}

/** Headers of every answer: nothing here may be cached by a proxy or guessed at by a browser. */
export const usualHeaders = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

/** Writes what a handler returned. */
export function answerOf(result: unknown, successStatus: number): Answer | Promise<Answer> {
  if (result instanceof RawReply) return result;
  if (result instanceof LongList) return listAnswer(result, successStatus);
  if (result instanceof Reply && result.body instanceof LongList) {
    return listAnswer(result.body, result.status, result.headers);
  }
  if (!(result instanceof Reply)) {
    return { status: successStatus, text: JSON.stringify(result), headers: {} };
  }
  const { status, body, headers } = result;
  return { status, text: JSON.stringify(body), headers };
}

/**
 * The first slice of a list, where it is the last one too; else all of them, of which two are there
 * already: what fails at the start can still be answered as an error.
 */
async function listAnswer(
  list: LongList<unknown>,
  status: number,
  headers: Answer['headers'] = {},
): Promise<Answer> {
  const slices = list.slices();
  const first = await slices.next();
  const second = await slices.next();
  if (second.done) return { status, text: first.value ?? '', headers };
  return {
    status,
    text: new SlicedText(resumed([first.value!, second.value], slices)),
    headers,
  };
}

async function* resumed(
  made: readonly string[],
  rest: AsyncGenerator<string, void>,
): AsyncGenerator<string, void> {
  try {
    yield* made;
    yield* rest;
  } finally {
    await rest.return();
  }
}

/** Writes an error. A 401 names the scheme the route accepts, as RFC 9110 asks. */
export function errorAnswer(
  error: ApiError,
  form: ErrorForm,
  accepts: readonly CredentialKind[],
): Answer {
  const headers: Record<string, string> = {};
  if (error.kind === 'unauthorized' && accepts.length > 0) {
    headers['www-authenticate'] = accepts.includes('client')
      ? 'Basic realm="gatewright"'
      : 'Bearer';
  }
  // Not for an outcome that is unknown: who tries again by itself could make a second one.
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

function scimErrorBody({ kind, status, message }: ApiError): unknown {
  const scimType = { invalid: 'invalidValue', conflict: 'uniqueness' }[String(kind)];
  const schemas = ['urn:ietf:params:scim:api:messages:2.0:Error'];
  return { schemas, status: String(status), ...(scimType && { scimType }), detail: message };
}

/** Codes of RFC 6749 5.2 and, for faults of the server, 4.1.2.1. */
const oauthCodes: Partial<Record<ErrorKind, string>> = {
  unauthorized: 'invalid_client',
  forbidden: 'unauthorized_client',
  rateLimited: 'temporarily_unavailable',
  unavailable: 'temporarily_unavailable',
  outcomeUnknown: 'temporarily_unavailable',
  internal: 'server_error',
};

/**
 * Turns what was thrown into an error for the caller: ours as it is, the web framework's by its
 * status, the rest by `classify`, whose text never leaves.
 */
export function toApiError(thrown: unknown, classify: (error: unknown) => ErrorKind): ApiError {
  if (thrown instanceof ApiError) return thrown;
  const kind = frameworkKinds[statusOf(thrown) ?? 0] ?? classify(thrown);
  return new ApiError(kind, undefined, '', { cause: thrown });
}

const frameworkKinds: Partial<Record<number, ErrorKind>> = {
  400: 'invalid',
  404: 'notFound',
  413: 'tooLarge',
  414: 'invalid',
  415: 'unsupportedMedia',
};

function statusOf(thrown: unknown): number | undefined {
  const { code, statusCode } = (thrown ?? {}) as { code?: unknown; statusCode?: unknown };
  const framework = typeof code === 'string' && code.startsWith('FST_');
  return framework && typeof statusCode === 'number' ? statusCode : undefined;
}
