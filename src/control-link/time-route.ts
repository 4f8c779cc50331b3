/** Tells gateways the time of the database, which all processes of a deployment share, and reads it from there. */
import { z } from 'zod';
import { type Route, route } from '../http/routes/route.ts';
import type { ControlLink } from './control-link.ts';
import { linkPaths } from './link-paths.ts';

const SharedTime = z.object({ now_ms: z.int() });

/** @param readTime reads the milliseconds since the epoch of the database's clock */
export function timeRoute(readTime: () => Promise<number>): Route<null> {
  return route({
    method: 'POST',
    path: linkPaths.time,
    mounts: { root: ['none'] },
    isRepeatable: true,
    body: z.strictObject({}),
    summary: 'The time of the database',
    response: SharedTime,
    handle: async () => ({ now_ms: await readTime() }),
  });
}

/** Reads the milliseconds since the epoch of the clock that all processes of the deployment share. */
export async function readSharedTime(link: Pick<ControlLink, 'read'>): Promise<number> {
  const answer = await link.read(linkPaths.time, {});
  return SharedTime.parse(JSON.parse(answer.toString())).now_ms;
}
