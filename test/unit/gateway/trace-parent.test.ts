/** Checks which `traceparent` headers are accepted as the parent span of a request. */
import { describe, expect, it } from 'vitest';
import { readTraceParent, traceParentText } from '../../../src/gateway/logs/trace-parent.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';

describe('a traceparent', () => {
  it.each([
    ['of version 00', `00-${traceId}-${spanId}-01`, 1],
    ['that is not sampled', `00-${traceId}-${spanId}-00`, 0],
    ['with a random id', `00-${traceId}-${spanId}-03`, 3],
    ['with unknown flags, which are dropped', `00-${traceId}-${spanId}-fd`, 1],
    ['of a later version', `cc-${traceId}-${spanId}-01`, 1],
    ['of a later version with more fields', `cc-${traceId}-${spanId}-01-what-the-future`, 1],
  ])('accepts a header %s', (_, value, flags) => {
    expect(readTraceParent(value)).toEqual({ traceId, spanId, flags });
  });

  it.each([
    ['is missing', undefined],
    ['occurs several times', [`00-${traceId}-${spanId}-01`]],
    ['occurs twice in one header', `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`],
    ['is empty', ''],
    ['has capital letters', `00-${traceId.toUpperCase()}-${spanId}-01`],
    ['has an invalid version', `ff-${traceId}-${spanId}-01`],
    ['has version 00 and more fields', `00-${traceId}-${spanId}-01-more`],
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
