/** Makes the headers that protect the pages of the console and of the documentation. */
import { RawReply } from '../http/routes/route.ts';
import { ApiError, errorBody } from '../model/wire/errors.ts';

export type HeaderFields = Readonly<Record<string, string>>;

/**
 * Headers of every response. Scripts and styles come from this server only, and no other site shows the page in a
 * frame or gets a handle of its window. `directives` complete the content security policy.
 */
export function headersWith(directives: readonly string[]): HeaderFields {
  const policy = [
    "default-src 'none'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    ...directives,
  ];
  return {
    'content-security-policy': policy.join('; '),
    'x-content-type-options': 'nosniff',
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
  };
}

/** For files whose names contain a hash of their content. */
export const cachedForever = 'public, max-age=31536000, immutable';

/** Has the form of other errors. */
export function missingFile(headers: HeaderFields): RawReply {
  return new RawReply(404, JSON.stringify(errorBody(new ApiError('notFound'))), headers);
}
