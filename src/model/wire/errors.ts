/** Defines every error that the APIs return: a table from kind to status, code and type (docs/reference/api.md, Errors). */

/** `code` is the published identifier, `type` the published class; statuses are HTTP. */
export const errorTable = {
  invalid: { status: 400, code: 'AB01', type: 'Client Error', message: 'Request Validation Error' },
  unauthorized: { status: 401, code: 'AB05', type: 'Client Error', message: 'Unauthorized access' },
  exhausted: {
    status: 402,
    code: 'AB09',
    type: 'Client Error',
    message: 'Subscription exhausted: the budget of this API key is used up',
  },
  forbidden: {
    status: 403,
    code: 'AB03',
    type: 'Client Error',
    message: 'User not allowed to access the resource',
  },
  featureDisabled: {
    status: 403,
    code: 'AB03',
    type: 'Client Error',
    message: 'This feature is switched off on this deployment',
  },
  notFound: { status: 404, code: 'AB08', type: 'Client Error', message: 'Resource not found' },
  unplaced: {
    status: 404,
    code: 'AB02',
    type: 'Client Error',
    message: 'Request Validation Error',
  },
  methodNotAllowed: {
    status: 405,
    code: 'AB01',
    type: 'Client Error',
    message: 'Method not allowed',
  },
  conflict: { status: 409, code: 'AB07', type: 'Client Error', message: 'Resource already exists' },
  stale: {
    status: 412,
    code: 'AB07',
    type: 'Client Error',
    message: 'The resource has changed since it was read',
  },
  tooLarge: { status: 413, code: 'AB01', type: 'Client Error', message: 'Request body too large' },
  unsupportedMedia: {
    status: 415,
    code: 'AB01',
    type: 'Client Error',
    message: 'Unsupported content type or encoding',
  },
  dependency: {
    status: 424,
    code: 'AB07',
    type: 'Client Error',
    message: 'Not carried out: a change that this one depends on was rejected',
  },
  rateLimited: { status: 429, code: 'AB06', type: 'Client Error', message: 'Rate limit exceeded' },
  internal: { status: 500, code: 'AB04', type: 'Server Error', message: 'Internal Server Error' },
  unavailable: {
    status: 503,
    code: 'AB04',
    type: 'Server Error',
    message: 'The service is temporarily unavailable, try again',
  },
  outcomeUnknown: {
    status: 503,
    code: 'AB04',
    type: 'Server Error',
    message:
      'The outcome is unknown: the connection to the database was lost while the change was being ' +
      'committed. Send it again with the same Idempotency-Key, or check whether it was applied',
  },
} as const;

export type ErrorKind = keyof typeof errorTable;

/**
 * An error meant for the caller of an API. `message` is public and never contains a secret input.
 * `param` is the JSON path or header at fault, '' when there is none. The cause stays private.
 */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly kind: ErrorKind;
  readonly param: string;

  constructor(kind: ErrorKind, message?: string, param = '', options?: ErrorOptions) {
    super(message ?? errorTable[kind].message, options);
    this.kind = kind;
    this.param = param;
  }

  get status(): number {
    return errorTable[this.kind].status;
  }
}

export interface FlatErrorBody {
  code: string;
  message: string;
  param: string;
  type: string;
}

export interface ErrorBody {
  success: false;
  status_code: number;
  error: FlatErrorBody;
  /** Duplicates `error` for clients that read the older shape. */
  data: { message: string; errorCode: string };
}

/** The flat form: the four fields without the wrapper. */
export function flatErrorBody(error: ApiError): FlatErrorBody {
  const { code, type } = errorTable[error.kind];
  return { code, message: error.message, param: error.param, type };
}

/** The Admin API form: both published shapes in one object, which every known client can read. */
export function errorBody(error: ApiError): ErrorBody {
  const flat = flatErrorBody(error);
  return {
    success: false,
    status_code: error.status,
    error: flat,
    data: { message: flat.message, errorCode: flat.code },
  };
}
