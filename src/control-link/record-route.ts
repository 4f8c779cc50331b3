/** Accepts the records of gateways without a database. */
import { type Route, route } from '../http/routes/route.ts';
import type { GatewayRecords } from '../store/records/gateway-records.ts';
import { linkPaths } from './link-paths.ts';
import { RecordAnswer, RecordCall, recordArguments } from './record-messages.ts';

/** A note contains a sealed answer of megabytes at most. */
const bodyLimits = { bytesMax: 32 * 1024 * 1024, valuesMax: 20_000 };

export function recordRoute(records: GatewayRecords): Route<null> {
  return route({
    method: 'POST',
    path: linkPaths.records,
    mounts: { root: ['none'] },
    isRepeatable: true,
    summary: 'Store a record of a gateway',
    body: RecordCall.refine(
      ({ method, arguments: given }) => recordArguments[method].safeParse(given).success,
      { error: 'has arguments that the method does not take' },
    ),
    bodyLimits,
    response: RecordAnswer,
    handle: async ({ body: { method, arguments: given } }) => {
      const call = records[method] as (...given: unknown[]) => Promise<unknown>;
      return { result: await call(...recordArguments[method].parse(given)) };
    },
  });
}
