/** Kills processes with SIGKILL, and stops them with SIGSTOP. */
import type { Scene } from '../scene/scene.ts';
import type { FaultKind, FaultTarget, Permit } from './fault.ts';
import {
  databaseAway,
  failingProvider,
  failingToolServer,
  lockedBudgets,
  unansweredAdministration,
  unansweredAtTarget,
} from './permits.ts';

interface Runner extends FaultTarget {
  kill(): Promise<void>;
  start(): Promise<unknown>;
  /** Stops it like SIGSTOP. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

const killedMs = [300, 3_000] as const;
const stoppedMs = [500, 5_000] as const;

/** A target that runs in a process of its own. */
function runner(one: {
  readonly name: string;
  readonly pid: number;
  kill(): Promise<void>;
  start(): Promise<unknown>;
}): Runner {
  let frozenPid = 0;
  return {
    name: one.name,
    claims: [one.name],
    kill: () => one.kill(),
    start: () => one.start(),
    freeze: async () => {
      frozenPid = one.pid;
      process.kill(frozenPid, 'SIGSTOP');
    },
    thaw: async () => void process.kill(frozenPid, 'SIGCONT'),
  };
}

interface Group {
  readonly name: string;
  readonly runnersOf: (scene: Scene) => readonly Runner[];
  readonly permits: readonly Permit[];
  readonly whyMissing?: (scene: Scene) => string | null;
}

const groups: readonly Group[] = [
  {
    name: 'gateway',
    runnersOf: ({ gateways }) => gateways.map(runner),
    permits: [unansweredAtTarget, lockedBudgets],
  },
  {
    name: 'control plane',
    runnersOf: ({ controls }) => controls.map(runner),
    permits: [unansweredAdministration],
  },
  { name: 'daemon', runnersOf: ({ daemon }) => [runner(daemon)], permits: [] },
  {
    name: 'provider',
    runnersOf: ({ provider }) => [runner(provider)],
    permits: [failingProvider],
  },
  {
    name: 'MCP server',
    runnersOf: ({ toolServer }) => [runner(toolServer)],
    permits: [failingToolServer],
  },
  { name: 'mail server', runnersOf: ({ mailbox }) => [runner(mailbox)], permits: [] },
  { name: 'Git host', runnersOf: ({ gitHost }) => [runner(gitHost)], permits: [] },
  {
    name: 'database',
    runnersOf: ({ database: { own } }) => [{ name: 'database', claims: ['database'], ...own! }],
    permits: databaseAway,
    whyMissing: ({ database: { own } }) =>
      own === null ? 'the server of --database is not ours to stop' : null,
  },
];

function kill({ name, runnersOf, ...group }: Group): FaultKind<Runner> {
  return {
    ...group,
    name: `${name} killed`,
    durationMs: killedMs,
    targetsOf: runnersOf,
    inject: async (_, target) => {
      await target.kill();
      return async () => void (await target.start());
    },
  };
}

function stop({ name, runnersOf, ...group }: Group): FaultKind<Runner> {
  return {
    ...group,
    name: `${name} stopped`,
    durationMs: stoppedMs,
    targetsOf: runnersOf,
    inject: async (_, target) => {
      await target.freeze();
      return () => target.thaw();
    },
  };
}

export const processFaults = groups.flatMap((group) => [kill(group), stop(group)]);
