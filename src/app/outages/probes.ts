/** Health probes: whether this process is alive, has started, and should receive traffic. */
import { z } from 'zod';
import { type ClockReading, describeDeviation } from '../../clock.ts';
import { Reply, type Route, route } from '../../http/routes/route.ts';
import type { SchemaState } from '../../store/migrations/migration-state.ts';
import type { LinkState, RegionState } from './link-state.ts';

/** Questions of the probes to a database. */
export interface DatabaseSources {
  /** Rejects when the database does not respond. */
  readonly ping: () => Promise<void>;
  /** Whether the database accepts writes. */
  readonly takesWrites: () => Promise<boolean>;
  readonly schemaState: () => Promise<SchemaState>;
}

/** State that the probes read. */
export interface ProbeSources extends DatabaseSources {
  /** State of the link to the control plane; null for a process that has its database. */
  readonly link: Pick<LinkState, 'isConnected' | 'isAway'> | null;
  /** The region's own database, and whether it is verified; null for a process without a region. */
  readonly region: (DatabaseSources & Pick<RegionState, 'isProven'>) | null;
  /** False until the database has been reached and verified. */
  readonly isConnected: () => boolean;
  /** Whether reads are served by the reader while the writer is down. */
  readonly isReaderInUse: () => Promise<boolean>;
  /** Whether most requests of this process still succeed without the database. */
  readonly servesWithoutDatabase: () => boolean;
  /** Age of the configuration while the database does not respond; null while it does. */
  readonly configurationAgeSeconds: () => number | null;
  /** The error when data keys need a master key that is not configured, else null. */
  readonly missingMasterKey: () => Promise<Error | null>;
  readonly isDraining: () => boolean;
  /** Why the spool takes no records, or soon takes no more; null while it has room. */
  readonly spoolFault: () => string | null;
  /** Measures the deviation of this process's clock from the database. */
  readonly readClock: () => Promise<ClockReading>;
}

const cacheMs = 1000;
/** Schema and master key change only by a migration or rotation, possibly of another process. */
const settledCacheMs = 30_000;
const usableStates: readonly SchemaState[] = ['current', 'ahead'];

/** From the best to the worst. */
const statuses = ['ok', 'degraded', 'unavailable'] as const;

const ProbeReport = z.object({
  status: z.enum(statuses),
  reasons: z.array(z.string()),
});
type ProbeReport = z.infer<typeof ProbeReport>;

const sound: ProbeReport = { status: 'ok', reasons: [] };

export function probeRoutes(sources: ProbeSources): Route<null>[] {
  const readiness = createReadiness(sources);
  let hasBeenReady = false;
  const ownReport = async (): Promise<ProbeReport> =>
    sources.isConnected()
      ? readiness()
      : reportWithoutDatabase(sources, 'the database is still waited for');
  const linkedReport = createLinkedReadiness(sources);
  const ready = async (): Promise<ProbeReport> => {
    const report = await (sources.link === null ? ownReport() : linkedReport(sources.link));
    hasBeenReady ||= report.status !== 'unavailable';
    const fault = sources.spoolFault();
    if (fault === null || report.status === 'unavailable') return report;
    return { status: 'degraded', reasons: [...report.reasons, fault] };
  };
  return [
    probe('/livez', 'Whether the process answers at all', async () => sound),
    probe('/readyz', 'Whether the process should get traffic', async () => {
      const report = await ready();
      return sources.isDraining()
        ? unavailable('the process is stopping', ...report.reasons)
        : report;
    }),
    probe('/startupz', 'Whether the process has been ready once', async () =>
      hasBeenReady ? sound : await ready(),
    ),
  ];
}

function degraded(reason: string): ProbeReport {
  return { status: 'degraded', reasons: [reason] };
}

function unavailable(...reasons: string[]): ProbeReport {
  return { status: 'unavailable', reasons };
}

/** A degraded process is ready: removing it from traffic would stop reads that still work. */
function probe(path: string, summary: string, report: () => Promise<ProbeReport>): Route<null> {
  return route({
    method: 'GET',
    path,
    mounts: { root: ['none'] },
    summary,
    response: ProbeReport,
    ...(path === '/livez' ? {} : { failureStatus: 503 }),
    handle: async () => {
      const found = await report();
      return new Reply(found.status === 'unavailable' ? 503 : 200, found);
    },
  });
}

/** Tells how old the configuration is, so that its reader can judge how long the outage may go on. */
function reportWithoutDatabase(
  {
    servesWithoutDatabase,
    configurationAgeSeconds,
  }: Pick<ProbeSources, 'servesWithoutDatabase' | 'configurationAgeSeconds'>,
  fault: string,
): ProbeReport {
  if (!servesWithoutDatabase()) return unavailable(fault);
  const ageSeconds = configurationAgeSeconds() ?? 0;
  return degraded(`${fault}; the gateway continues with its configuration of ${ageSeconds} s ago`);
}

/** Reports on the control plane and on the region's database, each with reasons of its own. */
function createLinkedReadiness(
  sources: ProbeSources,
): (link: NonNullable<ProbeSources['link']>) => Promise<ProbeReport> {
  const { region } = sources;
  const place = region === null ? 'the control plane' : 'the home of this region';
  const ofRegion = region === null ? async () => sound : createRegionReadiness(sources, region);
  const ofHome = ({ isConnected, isAway }: NonNullable<ProbeSources['link']>): ProbeReport => {
    if (isAway()) return reportWithoutDatabase(sources, `${place} does not answer`);
    return isConnected() ? sound : unavailable(`${place} is still waited for`);
  };
  return async (link) => {
    const reports = [ofHome(link), await ofRegion()];
    const status = [...statuses].reverse().find((one) => reports.some((its) => its.status === one));
    return { status: status!, reasons: reports.flatMap(({ reasons }) => reasons) };
  };
}

/** Without its database a region goes on, because configuration comes from home. */
function createRegionReadiness(
  { servesWithoutDatabase }: Pick<ProbeSources, 'servesWithoutDatabase'>,
  region: NonNullable<ProbeSources['region']>,
): () => Promise<ProbeReport> {
  const withoutIt = (fault: string): ProbeReport =>
    servesWithoutDatabase()
      ? degraded(`${fault}; limits go on by the units that are held, and log rows wait`)
      : unavailable(fault);
  const { answers, writes, schema } = databaseChecks(region, "region's database", withoutIt);
  const isProven = async (): Promise<ProbeReport> =>
    region.isProven() ? sound : withoutIt("the region's database is not verified yet");
  return () => firstFault([answers, isProven, writes, schema]);
}

/** The report of the first check that is not sound. */
async function firstFault(checks: readonly (() => Promise<ProbeReport>)[]): Promise<ProbeReport> {
  for (const check of checks) {
    const report = await check();
    if (report.status !== 'ok') return report;
  }
  return sound;
}

/** Checks of one database, each at most once a second; `withoutIt` reports what a fault means. */
function databaseChecks(
  { ping, takesWrites, schemaState }: DatabaseSources,
  name: string,
  withoutIt: (fault: string) => ProbeReport,
): Record<'answers' | 'writes' | 'schema', () => Promise<ProbeReport>> {
  const answers = cached(cacheMs, async () => {
    try {
      await ping();
      return sound;
    } catch {
      return withoutIt(`the ${name} does not answer`);
    }
  });
  const askWrites = async (): Promise<ProbeReport> =>
    (await takesWrites())
      ? sound
      : withoutIt(`the ${name} refuses changes: its disk is full, or it is read only`);
  // A success is not cached: checking it is free, and the next write may fail.
  const writes = cached(cacheMs, askWrites, ({ status }) => status !== 'ok');
  const schema = cached(cacheMs, async () => {
    try {
      const state = await schemaState();
      return usableStates.includes(state) ? sound : unavailable(`the ${name} schema is ${state}`);
    } catch {
      return withoutIt(`the state of the ${name} schema is unknown`);
    }
  });
  const settledSchema = cached(settledCacheMs, schema, ({ status }) => status === 'ok');
  return { answers, writes, schema: settledSchema };
}

/** Checks at most once a second, however many probes arrive. */
function createReadiness(sources: ProbeSources): () => Promise<ProbeReport> {
  const { isReaderInUse, missingMasterKey, readClock } = sources;
  const withoutDatabase = (fault: string) => reportWithoutDatabase(sources, fault);
  const { answers, writes, schema } = databaseChecks(sources, 'database', withoutDatabase);
  // Checked first: it detects a hanging writer at once, while a ping would wait.
  const reader = cached(cacheMs, async () =>
    (await isReaderInUse())
      ? degraded('the database does not answer; reads are served by its reader, writes are refused')
      : sound,
  );
  // Values read earlier still work, and possibly no other replica has the key.
  const masterKey = cached(cacheMs, async () => {
    try {
      const fault = await missingMasterKey();
      return fault === null ? sound : degraded(fault.message);
    } catch {
      return withoutDatabase('the keys of the database cannot be read');
    }
  });
  const clock = cached(cacheMs, async () => {
    try {
      const deviation = describeDeviation(await readClock());
      return deviation === null ? sound : degraded(`${deviation}; jobs do not run here`);
    } catch {
      return withoutDatabase('the time of the database is unknown');
    }
  });
  const settledMasterKey = cached(settledCacheMs, masterKey, ({ status }) => status === 'ok');
  return () => firstFault([reader, answers, writes, schema, settledMasterKey, clock]);
}

/** Shares one run of `find` among all calls within `ms`; results that `keep` rejects are not cached. */
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
