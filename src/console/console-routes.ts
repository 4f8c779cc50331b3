/** HTTP routes for the page and the assets of the console (docs/guides/console.md). */
import { z } from 'zod';
import { chooseCoding, documentCodings } from '../http/responses/content-coding.ts';
import { holdsTag } from '../http/responses/entity-tag.ts';
import { RawReply, type Route, type RouteRequest, route } from '../http/routes/route.ts';
import { ApiError, errorBody } from '../model/wire/errors.ts';
import type { ConsoleFile, ConsoleFiles } from './console-files.ts';

/**
 * Headers of every response. Scripts and styles come from this server only, and no script turns text into
 * markup; no other site shows the console in a frame or gets a handle of its window.
 */
const securityHeaders = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
} as const;

/** The names of assets contain a hash of their content. */
const cachedForever = 'public, max-age=31536000, immutable';

type FileRequest = Pick<RouteRequest<null>, 'ifNoneMatch' | 'acceptEncoding'>;

export function consoleRoutes({ page, assets }: ConsoleFiles): Route<null>[] {
  const open = { mounts: { root: ['none'] }, method: 'GET', response: z.unknown() } as const;
  return [
    route({
      ...open,
      path: '/console',
      summary: 'Get the page of the console',
      handle: (request) => respond(page, 'no-cache', request),
    }),
    route({
      ...open,
      path: '/console/',
      summary: 'Go to the page of the console, whose links are relative to its address',
      handle: async () => new RawReply(308, null, { ...securityHeaders, location: '../console' }),
    }),
    route({
      ...open,
      path: '/console/:file',
      summary: 'Get an asset of the console',
      handle: async (request) => {
        const file = assets.get(request.params.file!);
        return file === undefined ? notFound() : respond(file, cachedForever, request);
      },
    }),
  ];
}

async function respond(
  file: ConsoleFile,
  cacheControl: string,
  { ifNoneMatch, acceptEncoding }: FileRequest,
): Promise<RawReply> {
  const headers = {
    ...securityHeaders,
    'content-type': file.contentType,
    'cache-control': cacheControl,
    vary: 'accept-encoding',
    etag: file.tag,
  };
  if (holdsTag(ifNoneMatch, file.tag)) return new RawReply(304, null, headers);
  const { bytes, coding } = await file.read(chooseCoding(acceptEncoding, documentCodings));
  return new RawReply(200, bytes, {
    ...headers,
    ...(coding === null ? {} : { 'content-encoding': coding }),
  });
}

/** Has the form of other errors, with the headers of the console. */
function notFound(): RawReply {
  return new RawReply(404, JSON.stringify(errorBody(new ApiError('notFound'))), securityHeaders);
}
