/** Knows what the export of spans is given by the process: settings, proxies, and a log that tells of its losses. */
import { SpanExport } from '../gateway/logs/span-export.ts';
import type { Log } from '../log.ts';
import { packageVersion } from '../package-root.ts';
import type { Settings } from '../settings.ts';

/** So long without a loss makes the next one news. */
const quietMs = 600_000;

/** Null where no traces are recorded. */
export function createSpanExport(
  { inference, proxies }: Pick<Settings, 'inference' | 'proxies'>,
  log: Log,
): SpanExport | null {
  if (inference.traces === null) return null;
  const { url, headers, serviceName, sampler } = inference.traces;
  let lastLossAtMs = Number.NEGATIVE_INFINITY;
  return new SpanExport({
    source: { name: serviceName, version: packageVersion() },
    ...{ url, headers, proxies, sampler },
    onLoss: (reason, spans) => {
      const isNews = performance.now() - lastLossAtMs > quietMs;
      lastLossAtMs = performance.now();
      if (isNews) log.warn({ spans }, `spans of requests are lost: ${reason}`);
    },
  });
}
