/** HTTP routes for the documentation below the console (docs/guides/console.md). */
import { z } from 'zod';
import { chooseCoding } from '../http/responses/content-coding.ts';
import { holdsTag, weakTagOf } from '../http/responses/entity-tag.ts';
import { RawReply, type Route, type RouteRequest, route } from '../http/routes/route.ts';
import { type DocsFile, type DocsFiles, decompress } from './docs-files.ts';
import { cachedForever, headersWith, missingFile } from './security-headers.ts';

export const docsPath = '/console/docs/';

/**
 * The search of the site is compiled WebAssembly, and its theme sets custom properties in attributes and
 * turns text of the site into markup. Its pages are built with the program and show nothing else.
 */
const headers = headersWith([
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "style-src-attr 'unsafe-inline'",
  "worker-src 'self'",
  "form-action 'none'",
]);

export function docsRoutes(files: DocsFiles): Route<null>[] {
  const open = { mounts: { root: ['none'] }, method: 'GET', response: z.unknown() } as const;
  const depthMax = Math.max(...[...files.keys()].map((name) => name.split('/').length));
  const patterns = Array.from({ length: depthMax }, (_, depth) =>
    Array.from({ length: depth + 1 }, (_, at) => `:part${at}`).join('/'),
  );
  const summary = 'Get a file of the documentation';
  return [
    route({ ...open, path: docsPath, summary, handle: (request) => respond(files, '', request) }),
    route({
      ...open,
      path: docsPath.slice(0, -1),
      summary: 'Go to the documentation',
      handle: async () => redirect('docs/'),
    }),
    ...patterns.flatMap((pattern) => [
      route({
        ...open,
        path: docsPath + pattern,
        summary,
        handle: (request) => respond(files, addressOf(request), request),
      }),
      route({
        ...open,
        path: `${docsPath}${pattern}/`,
        summary: 'Get a page of the documentation',
        handle: (request) => respond(files, `${addressOf(request)}/`, request),
      }),
    ]),
  ];
}

type FileRequest = Pick<RouteRequest<null>, 'ifNoneMatch' | 'acceptEncoding'>;

/** Parameters are in the order of the path. */
function addressOf({ params }: Pick<RouteRequest<null>, 'params'>): string {
  return Object.values(params).join('/');
}

async function respond(
  files: DocsFiles,
  address: string,
  { ifNoneMatch, acceptEncoding }: FileRequest,
): Promise<RawReply> {
  const file = files.get(address);
  if (file === undefined) {
    // Links within pages are relative to their folder.
    return files.has(`${address}/`)
      ? redirect(`${address.split('/').at(-1)}/`)
      : missingFile(headers);
  }
  const stored = await file.read();
  const tag = weakTagOf(stored);
  const own = {
    ...headers,
    'content-type': file.contentType,
    'cache-control': file.isHashed ? cachedForever : 'no-cache',
    vary: 'accept-encoding',
    etag: tag,
  };
  if (holdsTag(ifNoneMatch, tag)) return new RawReply(304, null, own);
  return encode(file, stored, own, acceptEncoding);
}

async function encode(
  { isCompressed }: DocsFile,
  stored: Buffer,
  own: Readonly<Record<string, string>>,
  acceptEncoding: string | null,
): Promise<RawReply> {
  if (!isCompressed) return new RawReply(200, stored, own);
  if (chooseCoding(acceptEncoding, ['gzip']) === null) {
    return new RawReply(200, await decompress(stored), own);
  }
  return new RawReply(200, stored, { ...own, 'content-encoding': 'gzip' });
}

function redirect(location: string): RawReply {
  return new RawReply(308, null, { ...headers, location });
}
