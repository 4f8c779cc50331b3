/** Accepts log rows of gateways without a database. */
import { z } from 'zod';
import type { LogSink } from '../gateway/logs/log-sink.ts';
import { decodeRecord } from '../gateway/logs/spooled-rows.ts';
import { type Route, route } from '../http/routes/route.ts';
import { changeSetBodyLimits } from '../model/json/body-limits.ts';
import { linkPaths } from './link-paths.ts';
import { LogRowsRequest } from './log-messages.ts';

export function logRoute(sink: LogSink): Route<null> {
  return route({
    method: 'POST',
    path: linkPaths.logRows,
    mounts: { root: ['none'] },
    isRepeatable: true,
    summary: 'Store log rows',
    body: LogRowsRequest,
    bodyLimits: changeSetBodyLimits,
    response: z.strictObject({}),
    handle: async ({ body: { is_repeated: isRepeated, records } }) => {
      const decoded = records.map((record) => decodeRecord(JSON.stringify(record)));
      const rows = decoded.flatMap((one) => one?.row ?? []);
      const lost = decoded.flatMap((one) => one?.losses ?? []);
      await sink.write({ rows, lost }, isRepeated);
      return {};
    },
  });
}
