/** Checks which `traceparent` headers are accepted as the parent span of a request. */
import { describe, expect, it } from 'vitest';
import { readTraceParent, traceParentText } from '../../../src/gateway/logs/trace-parent.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';

describe('a traceparent', () => {
  it.each([
    ['of version 00', `00-${traceId}-${spanId}-01`, 1],
    ['that is not sampled', `00-${traceId}-${spanId}-00`, 0],
    ['whose id was made by chance', `00-${traceId}-${spanId}-03`, 3],
    ['with flags that nobody knows, without those', `00-${traceId}-${spanId}-fd`, 1],
    ['of a later version', `cc-${traceId}-${spanId}-01`, 1],
    ['of a later version that says more', `cc-${traceId}-${spanId}-01-what-the-future`, 1],
  ])('accepts a header that %s', (_, value, flags) => {
    expect(readTraceParent(value)).toEqual({ traceId, spanId, flags });
  });

  it.each([
    ['is none', undefined],
    ['came several times', [`00-${traceId}-${spanId}-01`]],
    ['came twice in one', `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`],
    ['is empty', ''],
    ['has capital letters', `00-${traceId.toUpperCase()}-${spanId}-01`],
    ['has a version that is none', `ff-${traceId}-${spanId}-01`],
    ['has the version 00 and more', `00-${traceId}-${spanId}-01-more`],
    ['has no trace', `00-${'0'.repeat(32)}-${spanId}-01`],
    ['has no span', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['is cut short', `00-${traceId}-${spanId}`],
    ['is too long', `00-${traceId}-${spanId}-011`],
    ['has no hexadecimal digits', `00-${'g'.repeat(32)}-${spanId}-01`],
  ])('drops a traceparent that %s', (_, value) => {
    expect(readTraceParent(value)).toBeNull();
  });

  it('serialises to the header that was parsed', () => {
    const text = `00-${traceId}-${spanId}-01`;
    expect(traceParentText(readTraceParent(text)!)).toBe(text);
  });
});
