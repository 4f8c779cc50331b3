/** Checks that malformed bytes are counted one by one, and do not flood the log. */
import { expect, it } from 'vitest';
import { createRefusedBytesReporter } from '../../../src/http/connections/refused-bytes.ts';
import { createLog } from '../../../src/log.ts';

it('logs one line every ten seconds with the number of refusals since the line before', () => {
  const lines: string[] = [];
  const counted: unknown[] = [];
  let nowMs = 5;
  const log = createLog({ level: 'info', destination: { write: (line) => lines.push(line) } });
  const observe = (...labels: unknown[]) => counted.push(labels);
  const tell = createRefusedBytesReporter('inference', observe, log, () => nowMs);
  for (let at = 0; at < 1_000; at += 1) tell({ status: 400, code: 'HPE_INVALID_METHOD' });
  nowMs += 10_000;
  tell({ status: 431, code: 'HPE_HEADER_OVERFLOW' });
  expect(counted).toHaveLength(1_001);
  expect(counted.at(-1)).toEqual([431, 'inference']);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { server: 'inference', status: 400, code: 'HPE_INVALID_METHOD', others: 0 },
    { server: 'inference', status: 431, code: 'HPE_HEADER_OVERFLOW', others: 999 },
  ]);
});
