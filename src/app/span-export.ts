/** Creates the export of trace spans and reports lost spans. */
import { SpanExport } from '../gateway/logs/span-export.ts';
import type { Log } from '../log.ts';
import { packageVersion } from '../package-root.ts';
import type { Settings } from '../settings.ts';

/** After this long without a loss, the next loss is logged again. */
const quietMs = 600_000;

/** Null when tracing is off. */
export function createSpanExport(
  { inference, proxies }: Pick<Settings, 'inference' | 'proxies'>,
  log: Log,
): SpanExport | null {
  if (inference.traces === null) return null;
  const { url, headers, serviceName, sampler } = inference.traces;
  let lastLossAtMs = Number.NEGATIVE_INFINITY;
  return new SpanExport({
    source: { name: serviceName, version: packageVersion() },
    url,
    headers,
    proxies,
    sampler,
    onLoss: (reason, spans) => {
      const isNews = performance.now() - lastLossAtMs > quietMs;
      lastLossAtMs = performance.now();
      if (isNews) log.warn({ spans }, `spans of requests are lost: ${reason}`);
    },
  });
}
