/** Measures inference against the open-source gateway (P) and a bare proxy (L), with one shared upstream. */
import { accountingRows } from './gateway/accounting.ts';
import { type Arena, openArena } from './gateway/arena.ts';
import { latencyRows } from './gateway/latency.ts';
import { enduranceRows, keysRows, streamMemoryRows } from './gateway/memory.ts';
import { requestLogRows } from './gateway/request-log-cost.ts';
import { buildRows, partRows, throughputRows } from './gateway/throughput.ts';
import { translationRows } from './gateway/translation.ts';
import type { Member, Row } from './harness.ts';

const keys = 10_000;
const configs = 1_000;

type Stage = (arena: Arena, scale: number) => Promise<Row[]>;

/** Stages by the name that `--stages` takes. */
const allStages: Readonly<Record<string, Stage>> = {
  throughput: throughputRows,
  parts: partRows,
  log: requestLogRows,
  builds: buildRows,
  latency: latencyRows,
  translation: translationRows,
  accounting: accountingRows,
  endurance: enduranceRows,
  streams: streamMemoryRows,
  keys: keysRows,
};

export const member: Member = {
  name: 'the gateway against another and a bare proxy',
  run: async (scale, { stages, builds, nodeOptions }): Promise<Row[]> => {
    const wanted = stages ?? Object.keys(allStages);
    const many = { keys: Math.ceil(keys * scale), configs: Math.ceil(configs * scale) };
    await using arena = await openArena({ ...many, builds, nodeOptions });
    const rows: Row[] = [];
    for (const name of wanted) {
      const stage = allStages[name];
      if (stage === undefined) {
        throw new Error(`--stages= takes ${Object.keys(allStages).join(', ')}`);
      }
      rows.push(...(await stage(arena, scale)));
    }
    return rows;
  },
};
