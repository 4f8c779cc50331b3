/** HTTP routes for the page, the assets and the documentation of the console (docs/guides/console.md). */
import { z } from 'zod';
import { chooseCoding, documentCodings } from '../http/responses/content-coding.ts';
import { holdsTag } from '../http/responses/entity-tag.ts';
import { RawReply, type Route, type RouteRequest, route } from '../http/routes/route.ts';
import type { ConsoleFile, ConsoleFiles } from './console-files.ts';
import { docsRoutes } from './docs-routes.ts';
import { cachedForever, headersWith, missingFile } from './security-headers.ts';

/** No script turns text into markup. */
const headers = headersWith([
  "script-src 'self'",
  "style-src 'self'",
  "form-action 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
]);

type FileRequest = Pick<RouteRequest<null>, 'ifNoneMatch' | 'acceptEncoding'>;

export function consoleRoutes({ page, assets, docs }: ConsoleFiles): Route<null>[] {
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
      handle: async () => new RawReply(308, null, { ...headers, location: '../console' }),
    }),
    route({
      ...open,
      path: '/console/:file',
      summary: 'Get an asset of the console',
      handle: async (request) => {
        const file = assets.get(request.params.file!);
        return file === undefined ? missingFile(headers) : respond(file, cachedForever, request);
      },
    }),
    ...(docs === null ? [] : docsRoutes(docs)),
  ];
}

async function respond(
  file: ConsoleFile,
  cacheControl: string,
  { ifNoneMatch, acceptEncoding }: FileRequest,
): Promise<RawReply> {
  const own = {
    ...headers,
    'content-type': file.contentType,
    'cache-control': cacheControl,
    vary: 'accept-encoding',
    etag: file.tag,
  };
  if (holdsTag(ifNoneMatch, file.tag)) return new RawReply(304, null, own);
  const { bytes, coding } = await file.read(chooseCoding(acceptEncoding, documentCodings));
  return new RawReply(200, bytes, {
    ...own,
    ...(coding === null ? {} : { 'content-encoding': coding }),
  });
}
