/**
 * Verifies the sync loop: what triggers a cycle, what is retried and when, and what is reported
 * once.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { requireValidPart } from '../../../../src/commands/sources/valid-part.ts';
import { Failure } from '../../../../src/failure.ts';
import { acquireLease } from '../../../../src/sync/apply/owner-lease.ts';
import { readSource } from '../../../../src/sync/desired/desired.ts';
import type { DriftPolicy } from '../../../../src/sync/loop/due-action.ts';
import { folderProbeMs, type WatchOptions, watch } from '../../../../src/sync/loop/watch.ts';
import type { DesiredSet } from '../../../../src/sync/resources/resource-set.ts';
import {
  createSuspension,
  deleteSuspension,
  putStatus,
  readRevisions,
} from '../../../../src/sync/server/sync-records.ts';
import { readLastApplied } from '../../../../src/sync/status/last-applied.ts';
import type { LoopEvent } from '../../../../src/sync/status/loop-event.ts';
import { type LoopStatus, SyncState } from '../../../../src/sync/status/sync-state.ts';
import { startFaultyProxy } from '../../../support/network/faulty-proxy.ts';
import type { TestServer } from '../../../support/server/server.ts';
import { sourceOf } from '../../../support/sync/manifests.ts';
import { commandOf } from '../../../support/sync/sync-model.ts';
import {
  desiredFrom,
  openSync,
  type SyncSetup,
  startSyncServer,
} from '../../../support/sync/sync-setup.ts';

const driftPassMs = 600_000;

let server: TestServer;
let sync: SyncSetup;

beforeEach(async () => {
  server = await startSyncServer();
  sync = openSync(server);
});
afterEach(async () => {
  await sync[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const manifest = (description: string): string => `
apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: support}
spec: {description: ${description}}
`;

/** Reads a source like a command does, in which only some workspaces may be valid. */
async function soundFrom(text: string, revision: string | null = null): Promise<DesiredSet> {
  const secrets = { environment: () => undefined, readValue: async () => undefined };
  const files = sourceOf({ 'all.yaml': text });
  const repo = revision === null ? '/source' : 'https://git.example/gw.git';
  const source = { ...files, info: { ...files.info, repo, revision } };
  return requireValidPart(await readSource(source, { ...secrets, requireSecrets: true }), null);
}

interface WatchedSource {
  text: string;
  /** The commit, null for a source without one. */
  revision?: string;
  broken?: string;
  isDown?: boolean;
  unsigned?: string;
  /** The signature policy. */
  signatures?: string;
}

/** Runs the steps of a script, one in each pause of the loop; pauses advance the clock. */
async function runLoop(
  start: WatchedSource,
  steps: ((source: WatchedSource) => unknown)[],
  options: {
    client?: SyncSetup['client'];
    pruneKeys?: boolean;
    drift?: DriftPolicy['mode'];
    lead?: () => Promise<number | null>;
    readApplied?: WatchOptions['readApplied'];
    descent?: WatchOptions['descent'];
    allowDeletes?: number;
  } = {},
): Promise<{ events: LoopEvent[]; standings: LoopStatus[]; pauses: number[]; reads: number }> {
  const source = { ...start };
  const state = new SyncState(server.clock);
  const standings: LoopStatus[] = [];
  const controller = new AbortController();
  const events: LoopEvent[] = [];
  const pauses: number[] = [];
  let reads = 0;
  await watch({
    client: options.client ?? sync.client,
    readDesired: async () => {
      reads += 1;
      if (source.broken) throw new Failure('invalidInput', source.broken);
      if (source.unsigned) throw new Failure('refusedByGuard', source.unsigned);
      return await soundFrom(source.text, source.revision);
    },
    newest: async () => {
      if (source.isDown) throw new Failure('unreachable', 'the Git host is away');
      const digest = `${source.text}${source.broken}${source.unsigned}`;
      return { digest, revision: null, signatures: source.signatures };
    },
    probeMs: folderProbeMs,
    drift: { mode: options.drift ?? 'heal', passMs: driftPassMs },
    ...(options.lead === undefined ? {} : { lead: options.lead }),
    readApplied: options.readApplied,
    descent: options.descent,
    onLook: (look) => state.onLook(look),
    prune: true,
    allowDeletes: options.allowDeletes ?? 10,
    takeOwnership: false,
    settleMs: 2_000,
    pruneKeys: options.pruneKeys ?? false,
    command: commandOf('gatewright apply .'),
    holder: 'watch',
    secretsFolder: sync.secretsFolder,
    signal: controller.signal,
    clock: server.clock,
    random: () => 0.5,
    pause: async (ms) => {
      pauses.push(ms);
      server.clock.advance(ms);
      const step = steps.shift();
      if (step === undefined) controller.abort();
      else await step(source);
    },
    onEvent: (event) => {
      state.onEvent(event);
      standings.push(state.status);
      events.push(event);
    },
  });
  return { events, standings, pauses, reads };
}

const nothing = (): void => undefined;

/** The writes of each cycle, or its message when there were none. */
function summarise(events: readonly LoopEvent[]): unknown[] {
  return events.map((event) =>
    event.kind === 'failure'
      ? event.failure.message
      : event.result.plan.changes.map(
          ({ action, reason }) => `${event.kind === 'drift' ? 'told: ' : ''}${action} ${reason}`,
        ),
  );
}

describe('the sync loop', () => {
  it('syncs at once, then only polls until the source changes, then syncs again', async () => {
    const { events, pauses, reads } = await runLoop({ text: manifest('a') }, [
      nothing,
      nothing,
      (source) => {
        source.text = manifest('b');
      },
      nothing,
    ]);
    expect(summarise(events)).toEqual([['create change'], ['update change']]);
    expect(reads).toBe(2);
    expect(pauses).toEqual(Array(5).fill(folderProbeMs));
  });

  it.each([['heal'], ['report'], ['off']] as const)(
    'continues after a suspension with drift %s, and reports once that it waits',
    async (drift) => {
      await sync.cycle(manifest('a'));
      const body = { owner: 'platform', reason: 'frozen', workspace: 'support' };
      await createSuspension(sync.client, body);
      const { events } = await runLoop(
        { text: manifest('b') },
        [
          ...Array.from({ length: 180 }, () => nothing),
          () => deleteSuspension(sync.client, 'support'),
          ...Array.from({ length: 61 }, () => nothing),
        ],
        { drift },
      );
      const news = events.filter((event) => event.kind === 'cycle' && event.isNews);
      expect(news).toMatchObject([
        { result: { report: null, plan: { blocked: [{ reason: 'suspended' }] } } },
        { retryAt: null, result: { report: { items: [{ status: 'done' }] } } },
      ]);
    },
  );

  it('reverts drift in its periodic pass, with one request when there is none', async () => {
    const client = sync.openClient();
    const counts: number[] = [];
    const { events } = await runLoop(
      { text: manifest('a') },
      [
        () => server.clock.advance(driftPassMs),
        () => {
          counts.push(client.requests);
          server.clock.advance(driftPassMs);
        },
        async () => {
          counts.push(client.requests);
          const { plan } = await sync.cycle('', { act: false, prune: false });
          const { id } = plan.live.get('Workspace/support')!;
          const body = { description: 'by hand' };
          await server.request('PUT', `/admin/v2/workspaces/${id}`, { body });
          server.clock.advance(driftPassMs);
        },
        nothing,
      ],
      { client },
    );
    expect(summarise(events)).toEqual([['create change'], [], [], ['update drift']]);
    expect(counts[1]! - counts[0]!).toBeLessThanOrEqual(2);
  });

  async function changeByHand(description: string): Promise<void> {
    const { plan } = await sync.cycle('', { act: false, prune: false });
    const { id } = plan.live.get('Workspace/support')!;
    await server.request('PUT', `/admin/v2/workspaces/${id}`, { body: { description } });
  }

  async function described(): Promise<unknown> {
    const { plan } = await sync.cycle('', { act: false, prune: false });
    return plan.live.get('Workspace/support')?.spec.description;
  }

  it('reports drift once without writing when configured so, and repairs it with the next version', async () => {
    const pass = () => server.clock.advance(driftPassMs);
    const client = sync.openClient();
    const { events } = await runLoop(
      { text: manifest('a') },
      [
        async () => {
          await changeByHand('by hand');
          pass();
        },
        pass,
        async () => {
          expect(await described()).toBe('by hand');
          await changeByHand('a');
          pass();
        },
        async (source) => {
          await changeByHand('by hand');
          source.text = manifest('b');
        },
        nothing,
      ],
      { drift: 'report', client },
    );
    expect(summarise(events)).toEqual([
      ['create change'],
      ['told: update drift'],
      ['told: update drift'],
      [],
      ['update drift'],
    ]);
    expect(events.map((event) => event.kind === 'drift' && event.isNews)).toEqual([
      false,
      true,
      false,
      true,
      false,
    ]);
    expect(await described()).toBe('b');
  });

  it('writes nothing at its start when drift is only reported and others have changed applied resources', async () => {
    await runLoop({ text: manifest('a') }, [nothing]);
    await changeByHand('by hand');
    const { events } = await runLoop({ text: manifest('a') }, [nothing], { drift: 'report' });
    expect(summarise(events)).toEqual([['told: update drift']]);
    expect(await described()).toBe('by hand');
    const second = await runLoop({ text: manifest('a') }, [nothing], { drift: 'off' });
    expect(summarise(second.events)).toEqual([['told: update drift']]);
    // A resource that was never applied counts as new, whatever others have changed.
    const third = await runLoop({ text: manifest('b') }, [nothing], { drift: 'off' });
    expect(summarise(third.events)).toEqual([['update drift']]);
    expect(await described()).toBe('b');
  });

  it('ignores drift when that is off', async () => {
    const client = sync.openClient();
    let before = 0;
    const { events } = await runLoop(
      { text: manifest('a') },
      [
        () => {
          before = client.requests;
          server.clock.advance(driftPassMs);
        },
        nothing,
      ],
      { drift: 'off', client },
    );
    expect(summarise(events)).toEqual([['create change']]);
    expect(client.requests).toBe(before);
  });

  it('neither reads nor writes while another loop leads, and reads everything when it becomes leader', async () => {
    let leading: number | null = null;
    const { events, reads } = await runLoop(
      { text: manifest('a') },
      [
        nothing,
        () => {
          leading = 1;
        },
        nothing,
        () => {
          leading = null;
          server.clock.advance(driftPassMs);
        },
        async () => {
          await changeByHand('by another');
          leading = 2;
        },
        nothing,
      ],
      { lead: async () => leading },
    );
    expect(summarise(events)).toEqual([['create change'], ['update drift']]);
    expect(reads).toBe(2);
  });

  it('reports an invalid source once, keeps the last valid one, and continues after the correction', async () => {
    const { events } = await runLoop({ text: manifest('a') }, [
      (source) => {
        source.broken = 'a.yaml:1:1 broken';
      },
      nothing,
      async () => {
        const { plan } = await sync.cycle('', { act: false, prune: false });
        const { id } = plan.live.get('Workspace/support')!;
        await server.request('PUT', `/admin/v2/workspaces/${id}`, { body: { description: 'x' } });
        server.clock.advance(driftPassMs);
      },
      (source) => {
        source.text = manifest('b');
        delete source.broken;
      },
    ]);
    expect(summarise(events)).toEqual([
      ['create change'],
      'a.yaml:1:1 broken',
      ['update drift'],
      ['update change'],
    ]);
  });

  describe('a workspace with an invalid source', () => {
    const sales = (description: string): string =>
      manifest(description).replace('support', 'sales');
    const right = `${manifest('a')}---${sales('a')}`;
    const wrong = `${manifest('b')}unknown: 1\n---${sales('b')}`;
    const drift = async (): Promise<void> => {
      await changeByHand('by hand');
      server.clock.advance(driftPassMs);
    };

    it('keeps its last valid state, and the continuation is reported once', async () => {
      const { events, standings } = await runLoop({ text: right }, [
        (source) => {
          source.text = wrong;
        },
        nothing,
        () => server.clock.advance(driftPassMs),
        drift,
        async (source) => {
          expect(await described()).toBe('a');
          source.text = `${manifest('c')}---${sales('b')}`;
        },
        nothing,
      ]);
      expect(summarise(events)).toEqual([
        ['create change', 'create change'],
        ['update change'],
        [],
        ['update drift'],
        ['update change'],
      ]);
      expect(events.map((event) => 'isNews' in event && event.isNews)).toEqual([
        true,
        true,
        false,
        true,
        true,
      ]);
      expect(standings.map(({ state }) => state)).toEqual([
        'Synced',
        'Degraded',
        'Degraded',
        'Degraded',
        'Synced',
      ]);
      expect(await described()).toBe('c');
    });

    it('is reported and not changed when drift is only reported', async () => {
      const { events, standings } = await runLoop(
        { text: right },
        [
          async (source) => {
            await changeByHand('by hand');
            source.text = wrong;
          },
          () => server.clock.advance(driftPassMs),
          nothing,
        ],
        { drift: 'report' },
      );
      expect(summarise(events)).toEqual([
        ['create change', 'create change'],
        ['update change'],
        ['told: update drift'],
      ]);
      expect(standings.at(-1)).toMatchObject({ state: 'Degraded', driftCount: 1 });
      expect(await described()).toBe('by hand');
    });

    it.each([
      ['the commit that the server keeps of it', '/source', ['update drift']],
      ['no commit of another source', '/another', []],
    ])('is restored by a process that starts with it as %s says', async (_, source, expected) => {
      const [earlier, later] = ['a'.repeat(40), 'b'.repeat(40)];
      await runLoop({ text: right, revision: earlier }, [nothing]);
      await changeByHand('by hand');
      const synced = { state: 'Synced', message: null, drift_count: 0 } as const;
      const terms = { holder: 'a test', takeOver: false, takeOverCommand: '', waitMs: 0 };
      {
        await using lease = await acquireLease(sync.client, terms);
        await putStatus(sync.client, lease.fence, {
          source: '/source',
          commit_seen: later,
          commit_applied: earlier,
          state: 'Degraded',
          message: null,
          error: null,
          drift_count: 0,
          next_look_at: null,
          workspaces: [
            { ...synced, workspace: 'support', commit_applied: earlier },
            { ...synced, workspace: 'sales', commit_applied: later },
          ],
        });
      }
      const commits: string[] = [];
      const readAt = async (commit: string): Promise<DesiredSet> => {
        commits.push(commit);
        return await soundFrom(right, commit);
      };
      const { events } = await runLoop({ text: wrong, revision: later }, [nothing], {
        readApplied: (now) => readLastApplied(now, { client: sync.client, source, readAt }),
      });
      expect(summarise(events)).toEqual([['update change', ...expected]]);
      expect(commits).toEqual(source === '/source' ? [earlier] : []);
    });
  });

  describe('a version that a guard holds back', () => {
    const [first, rewritten] = ['a'.repeat(40), 'b'.repeat(40)];
    const team = (name: string, description: string): string =>
      manifest(description).replace('support', name);
    const before = { text: `${team('one', 'a')}---${team('two', 'a')}`, revision: first };
    /** Another version of the source: the first workspace as applied, the second changed. */
    const after = `${team('one', 'a')}---${team('two', 'b')}`;
    const rewrite = (source: WatchedSource): void => {
      Object.assign(source, { text: after, revision: rewritten });
    };
    const descent = async () => 'unrelated' as const;
    const describedAs = async (name: string): Promise<unknown> => {
      const { plan } = await sync.cycle('', { act: false, prune: false });
      return plan.live.get(`Workspace/${name}`)?.spec.description;
    };
    const change = async (name: string, description: string): Promise<void> => {
      const { plan } = await sync.cycle('', { act: false, prune: false });
      const { id, version } = plan.live.get(`Workspace/${name}`)!;
      const path = `/admin/v2/workspaces/${id}`;
      const body = { description };
      await sync.client.request({ method: 'PUT', path, body, ifMatch: version });
    };
    const revisions = async () => (await readRevisions(sync.client)) ?? [];

    it('does not prevent reverting drift, which adds no step to its history', async () => {
      const { events, standings } = await runLoop(
        before,
        [
          rewrite,
          nothing,
          async () => {
            await change('one', 'by hand');
            server.clock.advance(driftPassMs);
          },
          nothing,
        ],
        { descent },
      );
      expect(summarise(events)).toEqual([
        ['create change', 'create change'],
        ['update change'],
        ['update change'],
        ['update drift'],
      ]);
      // The reverted resources do not count as an applied version.
      expect(events.at(-1)).toMatchObject({ result: { ending: 'refusedByGuard', refusal: {} } });
      expect([await describedAs('one'), await describedAs('two')]).toEqual(['a', 'a']);
      expect(standings.at(-1)).toMatchObject({
        state: 'OutOfSync',
        message: expect.stringContaining('does not descend from the one that was applied last'),
        applied: first,
        driftCount: 0,
      });
      expect((await revisions()).map(({ commit }) => commit)).toEqual([first, first]);
    });

    it('causes no drift when it was not applied and drift is only reported', async () => {
      const pass = () => server.clock.advance(driftPassMs);
      const { events, standings } = await runLoop(
        before,
        [
          rewrite,
          pass,
          async () => {
            await change('one', 'by hand');
            pass();
          },
          async () => {
            await change('one', 'a');
            pass();
          },
          nothing,
        ],
        { descent, drift: 'report' },
      );
      const isOf = (number: number): boolean => standings[number]?.state === 'OutOfSync';
      expect(standings.map((_, number) => isOf(number)).slice(1)).not.toContain(false);
      expect(
        events.flatMap((event) =>
          event.kind === 'drift' && event.isNews ? summarise([event]) : [],
        ),
      ).toEqual([['told: update drift'], []]);
      expect(standings.map(({ driftCount }) => driftCount)).toContain(1);
      expect(standings.at(-1)).toMatchObject({ applied: first, seen: rewritten, driftCount: 0 });
      expect(await describedAs('two')).toBe('a');
    });

    it('is recognised as applied soon after it was released elsewhere', async () => {
      const { events, standings } = await runLoop(
        before,
        [
          rewrite,
          async () => {
            const source = { ...(await soundFrom(after, rewritten)) };
            await sync.cycle(source, { act: true, acceptHistory: true });
            server.clock.advance(5_000);
          },
          nothing,
        ],
        { descent, drift: 'off' },
      );
      expect(summarise(events)).toEqual([
        ['create change', 'create change'],
        ['update change'],
        [],
      ]);
      expect(standings.at(-1)).toMatchObject({ state: 'Synced', applied: rewritten });
    });

    it('is not looked up when the source contains the last applied commit', async () => {
      const { events } = await runLoop(
        before,
        [
          (source) => {
            source.revision = rewritten;
            source.signatures = 'another look';
          },
          async () => {
            await change('one', 'by hand');
            server.clock.advance(driftPassMs);
          },
          nothing,
        ],
        { descent },
      );
      expect(summarise(events)).toEqual([['create change', 'create change'], [], ['update drift']]);
      expect((await revisions()).map(({ commit }) => commit)).toEqual([first, first]);
    });
  });

  it('stays Degraded with its fault while the previous version replaces an invalid one', async () => {
    const { standings } = await runLoop({ text: manifest('a') }, [
      (source) => {
        source.broken = 'a.yaml:1:1 broken';
      },
      nothing,
      async () => {
        await changeByHand('by hand');
        server.clock.advance(driftPassMs);
      },
      nothing,
    ]);
    const wrong = { state: 'Degraded', message: 'a.yaml:1:1 broken' };
    expect(standings).toMatchObject([{ state: 'Synced' }, wrong, wrong]);
    expect(standings.at(-1)?.seen).not.toBe(standings[0]?.seen);
  });

  it('reports a missing signature once, and keeps the last valid version, but not under former keys', async () => {
    const drift = async (): Promise<void> => {
      const { plan } = await sync.cycle('', { act: false, prune: false });
      const { id } = plan.live.get('Workspace/support')!;
      await server.request('PUT', `/admin/v2/workspaces/${id}`, { body: { description: 'x' } });
      server.clock.advance(driftPassMs);
    };
    const { events } = await runLoop({ text: manifest('a'), signatures: 'one' }, [
      (source) => {
        source.unsigned = 'is not signed';
      },
      nothing,
      drift,
      (source) => {
        source.signatures = 'two';
      },
      drift,
      nothing,
      (source) => {
        delete source.unsigned;
      },
    ]);
    expect(summarise(events)).toEqual([
      ['create change'],
      'is not signed',
      ['update drift'],
      'is not signed',
      ['update drift'],
    ]);
  });

  it('backs off from an unreachable source, reports it once, and recovers', async () => {
    const { events, pauses } = await runLoop({ text: manifest('a'), isDown: true }, [
      nothing,
      nothing,
      nothing,
      nothing,
      nothing,
      nothing,
      nothing,
      nothing,
      nothing,
      (source) => {
        source.isDown = false;
        server.clock.advance(60_000);
      },
      nothing,
    ]);
    expect(summarise(events)).toEqual(['the Git host is away', ['create change']]);
    const [first] = events;
    expect(first).toMatchObject({ retryAt: expect.any(Number) });
    expect(pauses.every((ms) => ms <= folderProbeMs)).toBe(true);
  });

  it('retries an unreachable server after 5, 10, 20 s and so on', async () => {
    const url = 'http://127.0.0.1:1';
    const client = sync.openClient({ adminBaseUrl: url, authUrl: url });
    const tries: number[] = [];
    const start = server.clock.now();
    let before = 0;
    const look = (): void => {
      if (client.requests > before) tries.push(server.clock.now() - start);
      before = client.requests;
    };
    const { events } = await runLoop(
      { text: manifest('a') },
      Array.from({ length: 40 }, () => look),
      { client },
    );
    expect(events).toHaveLength(1);
    expect(tries.map((ms) => Math.round(ms / 1_000))).toEqual([1, 6, 16, 36]);
  });

  it.each(['heal', 'report', 'off'] as const)(
    'rotates a key at its time and again one period later, with drift %s',
    async (drift) => {
      const text = `apiVersion: gatewright.dev/v1
kind: ApiKey
metadata: {name: bot}
spec: {scopes: [logs.list], secretOutput: {file: {path: bot.key}}, rotation: {period: 2d}}
`;
      const due = server.clock.now() + 2 * 86_400_000;
      const look = nothing;
      const jump = (ms: number) => () => server.clock.set(ms);
      const steps = [...Array(70).fill(look), jump(due - 1), look, ...Array(70).fill(look)];
      const { events } = await runLoop(
        { text },
        [...steps, jump(due + 2 * 86_400_000), look, look],
        {
          drift,
        },
      );
      const written = summarise(events).filter((changes) =>
        JSON.stringify(changes).includes('rotate'),
      );
      expect(written).toEqual([['rotate rotation'], ['rotate rotation']]);
    },
  );

  it.each(['report', 'off'] as const)(
    'only rotates with drift %s, and leaves changes of others, also of the key',
    async (drift) => {
      const key = `---
apiVersion: gatewright.dev/v1
kind: ApiKey
metadata: {name: bot}
spec: {scopes: [logs.list], secretOutput: {file: {path: bot.key}}, rotation: {period: 2d}}
`;
      const due = server.clock.now() + 2 * 86_400_000;
      const byHand = async (): Promise<void> => {
        await changeByHand('by hand');
        const { plan } = await sync.cycle('', { act: false, prune: false });
        const { id } = plan.live.get('ApiKey/bot')!;
        const body = { scopes: ['logs.list', 'workspaces.list'] };
        const { status } = await server.request('PUT', `/v2/api-keys/${id}`, { body });
        expect(status).toBe(200);
      };
      const steps = [...Array(70).fill(nothing), byHand, () => server.clock.set(due)];
      const { events } = await runLoop({ text: manifest('a') + key }, [...steps, nothing], {
        drift,
      });
      const written = events.flatMap((event) =>
        event.kind === 'cycle' ? (event.result.report?.items ?? []) : [],
      );
      expect(written.map(({ id, action, status }) => `${action} ${id} ${status}`).slice(2)).toEqual(
        ['rotate ApiKey/bot done'],
      );
      const { plan } = await sync.cycle('', { act: false, prune: false });
      expect(plan.live.get('Workspace/support')!.spec.description).toBe('by hand');
      expect(plan.live.get('ApiKey/bot')!.spec.scopes).toEqual(['logs.list', 'workspaces.list']);
      expect(summarise(events).at(-1)).toEqual(
        drift === 'off' ? ['rotate rotation'] : ['told: update drift', 'told: update drift'],
      );
    },
  );

  it.each(['heal', 'report', 'off'] as const)(
    'rotates after a suspension that covered the time, with drift %s, and reports once that it waits',
    async (drift) => {
      const text = `apiVersion: gatewright.dev/v1
kind: ApiKey
metadata: {name: bot}
spec: {scopes: [logs.list], secretOutput: {file: {path: bot.key}}, rotation: {period: 2d}}
`;
      const due = server.clock.now() + 2 * 86_400_000;
      const { events } = await runLoop(
        { text },
        [
          ...Array(70).fill(nothing),
          async () => {
            await createSuspension(sync.client, { owner: 'platform', reason: 'frozen' });
            server.clock.set(due);
          },
          ...Array(150).fill(nothing),
          () => deleteSuspension(sync.client, null),
          ...Array(61).fill(nothing),
          () => server.clock.advance(driftPassMs),
          nothing,
        ],
        { drift },
      );
      const written = summarise(events).filter((changes) =>
        JSON.stringify(changes).includes('rotate'),
      );
      expect(written).toEqual([['rotate rotation']]);
      const waits = events.filter(
        (event) =>
          event.kind === 'cycle' &&
          event.isNews &&
          event.result.plan.blocked.some(({ reason }) => reason === 'suspended'),
      );
      // When drift is reported, the pass that finds a rotation only plans it, so it does not wait.
      expect(waits).toHaveLength(drift === 'report' ? 0 : 1);
    },
  );

  it.each(['report', 'off'] as const)(
    'writes the same with drift %s after an outage of the server or the source',
    async (drift) => {
      let fate: 'pass' | 503 = 'pass';
      await using proxy = await startFaultyProxy(server.url, () => fate);
      const client = sync.openClient({ adminBaseUrl: proxy.url });
      const { events } = await runLoop(
        { text: manifest('a') },
        [
          async (source) => {
            await changeByHand('by hand');
            source.isDown = true;
          },
          (source) => {
            source.isDown = false;
            fate = 503;
            server.clock.advance(driftPassMs);
          },
          nothing,
          () => {
            fate = 'pass';
          },
          ...Array(20).fill(nothing),
        ],
        { drift, client },
      );
      expect(events.some(({ kind }) => kind === 'failure')).toBe(true);
      expect(await described()).toBe('by hand');
    },
  );

  it('rotates with the last valid version when the source is invalid', async () => {
    const text = `apiVersion: gatewright.dev/v1
kind: ApiKey
metadata: {name: bot}
spec: {scopes: [logs.list], secretOutput: {file: {path: bot.key}}, rotation: {period: 2d}}
`;
    const due = server.clock.now() + 2 * 86_400_000;
    const breakIt = (source: WatchedSource) => {
      source.broken = 'x.yaml:1:1: wrong';
    };
    const steps = [...Array(70).fill(nothing), breakIt, nothing, () => server.clock.set(due)];
    const { events } = await runLoop({ text }, [...steps, nothing, nothing], { drift: 'off' });
    expect(summarise(events)).toEqual([
      ['create change'],
      [],
      'x.yaml:1:1: wrong',
      ['rotate rotation'],
    ]);
  });

  describe('a resource that left the source', () => {
    const config = `---
apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: routing, workspace: support}
spec: {config: {retry: {attempts: 2}}}
`;
    const both = manifest('a') + config;
    const bot = `---
apiVersion: gatewright.dev/v1
kind: ApiKey
metadata: {name: bot}
spec: {scopes: [configs.list], secretOutput: {file: {path: bot.key}}}
`;
    type Step = (source: { text: string }) => unknown;
    const becomes =
      (text: string): Step =>
      (source) => {
        source.text = text;
      };
    const remaining = async (): Promise<string[]> => {
      const { plan } = await sync.cycle('', { act: false, prune: false });
      return [...plan.live].filter(([, live]) => live.owner !== null).map(([key]) => key);
    };

    it('is deleted after the source was read twice, one settling time apart', async () => {
      const left: string[][] = [];
      const look = async (): Promise<void> => {
        left.push(await remaining());
      };
      const { events } = await runLoop({ text: both }, [becomes(manifest('a')), look, look, look]);
      expect(summarise(events)).toEqual([
        ['create change', 'create change'],
        [],
        ['delete change'],
      ]);
      const [, waiting] = events;
      expect(waiting).toMatchObject({
        result: { plan: { blocked: [{ id: 'Config/support/routing', reason: 'settling' }] } },
      });
      expect(left.map((keys) => keys.length)).toEqual([2, 2, 1]);
    });

    it('is never touched when it returns within that time, including keys', async () => {
      const before = both + bot;
      const { events } = await runLoop({ text: before }, [
        becomes(''),
        becomes(before),
        nothing,
        nothing,
        nothing,
      ]);
      expect(summarise(events)).toEqual([Array(3).fill('create change'), [], []]);
      expect(await remaining()).toHaveLength(3);
    });

    it('starts its settling time again when the source changes', async () => {
      const { events } = await runLoop({ text: both }, [
        becomes(manifest('a')),
        becomes(manifest('b')),
        nothing,
        nothing,
        nothing,
      ]);
      expect(summarise(events)).toEqual([
        ['create change', 'create change'],
        [],
        ['update change'],
        ['delete change'],
      ]);
    });

    it('is kept until a command confirms it when it is a key or workspace', async () => {
      const away = Array.from({ length: 6 }, () => nothing);
      const { events } = await runLoop({ text: both + bot }, [
        becomes(config.replace(', workspace: support', '')),
        ...away,
      ]);
      const last = events.at(-1);
      expect(last).toMatchObject({
        kind: 'cycle',
        retryAt: null,
        result: {
          ending: 'refusedByGuard',
          plan: {
            blocked: [
              { id: 'ApiKey/bot', reason: 'unattended' },
              { id: 'Config/support/routing', reason: 'parent-stays' },
              { id: 'Workspace/support', reason: 'unattended' },
            ],
          },
        },
      });
      expect(last?.kind === 'cycle' && last.result.warnings.join()).toContain(
        'gatewright apply . --allow-deletes 3 --delete ApiKey/bot,Workspace/support',
      );
      expect(await remaining()).toEqual(
        expect.arrayContaining(['ApiKey/bot', 'Workspace/support']),
      );
    });

    it('is deleted at once by a tombstone, or when the loop is configured so, including keys', async () => {
      const tombstone = bot.replace('kind: ApiKey', 'kind: ApiKey\nstate: absent');
      const told1 = summarise((await runLoop({ text: bot }, [becomes(tombstone), nothing])).events);
      expect(told1).toEqual([['create change'], ['delete change']]);
      const steps = [becomes(manifest('a')), nothing, nothing, nothing];
      const { events } = await runLoop({ text: manifest('a') + bot }, steps, { pruneKeys: true });
      expect(summarise(events).at(-1)).toEqual(['delete change']);
      expect(await remaining()).toEqual(['Workspace/support']);
    });
  });

  it('stops at once when the signal is aborted', async () => {
    const controller = new AbortController();
    controller.abort();
    const events: unknown[] = [];
    await watch({
      client: sync.client,
      readDesired: async () => desiredFrom(''),
      newest: async () => ({ digest: 'd', revision: null }),
      probeMs: folderProbeMs,
      drift: { mode: 'heal', passMs: driftPassMs },
      prune: true,
      allowDeletes: null,
      takeOwnership: false,
      settleMs: 2_000,
      pruneKeys: false,
      command: () => '',
      holder: 'watch',
      secretsFolder: sync.secretsFolder,
      signal: controller.signal,
      onEvent: (event) => events.push(event),
    });
    expect(events).toEqual([]);
  });
});
