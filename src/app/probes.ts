/** Knows whether this process is alive, has started, and should get traffic. */
import { z } from 'zod';
import { Reply, type Route, route } from '../http/route.ts';
import type { SchemaState } from '../store/migration-state.ts';

/** What the probes look at; functions, so that each call sees the present. */
export interface ProbeSources {
  /** Rejects when the database does not answer. */
  readonly ping: () => Promise<void>;
  readonly schemaState: () => Promise<SchemaState>;
  readonly isDraining: () => boolean;
}

const cacheMs = 1000;
/** A current schema stays so for as long as nobody migrates, which newer builds do without us. */
const schemaCacheMs = 30_000;
const usableStates: readonly SchemaState[] = ['current', 'ahead'];

const ProbeReport = z.object({ status: z.string(), reasons: z.array(z.string()) });

export function probeRoutes(sources: ProbeSources): Route<null>[] {
  const readiness = createReadiness(sources);
  let hasBeenReady = false;
  const ready = async (): Promise<string[]> => {
    const reasons = await readiness();
    hasBeenReady ||= reasons.length === 0;
    return reasons;
  };
  return [
    probe('/livez', 'Whether the process answers at all', async () => []),
    probe('/readyz', 'Whether the process should get traffic', async () => [
      ...(sources.isDraining() ? ['the process is stopping'] : []),
      ...(await ready()),
    ]),
    probe('/startupz', 'Whether the process has been ready once', async () =>
      hasBeenReady ? [] : await ready(),
    ),
  ];
}

function probe(path: string, summary: string, reasons: () => Promise<string[]>): Route<null> {
  return route<null>({
    method: 'GET',
    path,
    mounts: { root: ['none'] },
    summary,
    response: ProbeReport,
    handle: async () => {
      const found = await reasons();
      if (found.length === 0) return { status: 'ok', reasons: found };
      return new Reply(503, { status: 'unavailable', reasons: found });
    },
  });
}

/** Reasons against traffic, looked up at most once a second however many ask. */
function createReadiness({ ping, schemaState }: ProbeSources): () => Promise<string[]> {
  const database = cached(cacheMs, async () => {
    try {
      await ping();
      return [];
    } catch {
      return ['the database does not answer'];
    }
  });
  const schema = cached(cacheMs, async () => {
    try {
      const state = await schemaState();
      return usableStates.includes(state) ? [] : [`the database schema is ${state}`];
    } catch {
      return ['the state of the database schema is unknown'];
    }
  });
  const settledSchema = cached(schemaCacheMs, schema, (reasons) => reasons.length === 0);
  return async () => {
    const reasons = await database();
    return reasons.length > 0 ? reasons : await settledSchema();
  };
}

/** Shares one run of `find` among all who ask within `ms`; a result that `keep` refuses is not kept. */
function cached<T>(
  ms: number,
  find: () => Promise<T>,
  keep: (value: T) => boolean = () => true,
): () => Promise<T> {
  let known: { value: Promise<T>; until: number } | null = null;
  return () => {
    if (known !== null && performance.now() < known.until) return known.value;
    const current = { value: find(), until: performance.now() + ms };
    known = current;
    current.value.then(
      (value) => {
        if (!keep(value) && known === current) known = null;
      },
      () => {
        if (known === current) known = null;
      },
    );
    return current.value;
  };
}
