/** Knows how inference fares beside the open-source gateway (P) and a bare proxy (L), one run with the same upstream. */
import { accountingRows } from './gateway/accounting.ts';
import { openArena } from './gateway/arena.ts';
import { latencyRows } from './gateway/latency.ts';
import { enduranceRows, keysRows, streamMemoryRows } from './gateway/memory.ts';
import { stageRows, throughputRows } from './gateway/throughput.ts';
import type { Member, Row } from './harness.ts';

const keys = 10_000;
const configs = 1_000;

export const member: Member = {
  name: 'the gateway beside another and a bare proxy',
  run: async (scale): Promise<Row[]> => {
    const many = { keys: Math.ceil(keys * scale), configs: Math.ceil(configs * scale) };
    await using arena = await openArena(many);
    return [
      ...(await throughputRows(arena, scale)),
      ...(await stageRows(arena, scale)),
      ...(await latencyRows(arena, scale)),
      ...(await accountingRows(arena, scale)),
      ...(await enduranceRows(arena, scale)),
      ...(await streamMemoryRows(arena)),
      ...(await keysRows(arena)),
    ];
  },
};
