/** Tests that a real Kubernetes shows the state of a sync: one ConfigMap, and one Event for each change. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { ClusterStatus } from '../../src/sync/notify/cluster-status.ts';
import type { ClusterReport } from '../../src/sync/notify/cluster-status-text.ts';
import { eventually } from '../support/server/eventually.ts';
import { type KubernetesApi, startKubernetesApi, unavailable } from './kubernetes-api.ts';

const namespace = 'gateways';

const report = (state: ClusterReport['state'], commit = 'c0ffee'): ClusterReport => ({
  source: '/srv/gw',
  commit_seen: commit,
  commit_applied: commit,
  state,
  message: null,
  error: null,
  drift_count: 0,
  workspaces: [
    { workspace: 'support', state, commit_applied: commit, drift_count: 0, message: null },
  ],
});

describe.skipIf(unavailable !== null)(
  `the status in a cluster${unavailable === null ? '' : ` (${unavailable})`}`,
  () => {
    let api: KubernetesApi;
    const open: ClusterStatus[] = [];

    beforeAll(async () => {
      api = await startKubernetesApi();
      const metadata = { name: namespace };
      await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata });
      await permit();
    });
    afterAll(async () => {
      await Promise.all(open.map((one) => one[Symbol.asyncDispose]()));
      await api?.[Symbol.asyncDispose]();
    });

    const create = (path: string, body: unknown): Promise<unknown> =>
      api.request({ method: 'POST', path, body });

    /** Grants exactly the rights that the chart grants. */
    async function permit(): Promise<void> {
      const group = 'rbac.authorization.k8s.io';
      const path = `/apis/${group}/v1/namespaces/${namespace}`;
      const [apiVersion, metadata] = [`${group}/v1`, { name: 'gatewright' }];
      const rules = [
        {
          apiGroups: [''],
          resources: ['configmaps'],
          verbs: ['get', 'patch'],
          resourceNames: ['of-chart'],
        },
        { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create'] },
      ];
      await create(`${path}/roles`, { apiVersion, kind: 'Role', metadata, rules });
      const subjects = [{ kind: 'User', name: 'gatewright', apiGroup: group }];
      const roleRef = { kind: 'Role', name: 'gatewright', apiGroup: group };
      const binding = { apiVersion, kind: 'RoleBinding', metadata, subjects, roleRef };
      await create(`${path}/rolebindings`, binding);
    }

    function show(name: string, user = 'admin', outcomes: (string | null)[] = []): ClusterStatus {
      const status = new ClusterStatus({
        owner: 'platform',
        client: api.client(user),
        place: { namespace, name },
        instance: 'pod-1',
        clock: systemClock,
        onOutcome: (reason) => outcomes.push(reason),
        pause: async (_, signal) => await delay(20, undefined, { signal }),
      });
      open.push(status);
      return status;
    }

    const read = async (name: string) =>
      (await api.request({
        method: 'GET',
        path: `/api/v1/namespaces/${namespace}/configmaps/${name}`,
      })) as {
        data: Record<string, string>;
        metadata: { labels?: object; managedFields: { manager: string; operation: string }[] };
      };

    const stateOf = async (name: string): Promise<string | undefined> =>
      (await read(name)).data?.state;

    async function notes(name: string): Promise<string[]> {
      const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
      const { items } = (await api.request({ method: 'GET', path })) as {
        items: { note: string; regarding: { name: string } }[];
      };
      return items.filter(({ regarding }) => regarding.name === name).map(({ note }) => note);
    }

    it('is created when absent, and each change is one Event, also after a restart', async () => {
      const first = show('own');
      first.show(report('Synced'), false);
      await eventually(async () => expect(await stateOf('own')).toBe('Synced'));
      first.show(report('Degraded'), false);
      await eventually(async () => expect(await stateOf('own')).toBe('Degraded'));
      await first[Symbol.asyncDispose]();
      const next = show('own');
      next.show(report('Degraded', 'decaf'), false);
      await eventually(async () => expect((await read('own')).data.commitSeen).toBe('decaf'));
      expect((await notes('own')).toSorted()).toEqual([
        'platform is Degraded at c0ffee, was Synced',
        'platform is Synced at c0ffee',
        'workspace support is Degraded, was Synced',
      ]);
    });

    it('needs only the rights of the chart, and keeps the labels that the chart has set', async () => {
      const labels = { 'app.kubernetes.io/managed-by': 'Helm' };
      const metadata = { name: 'of-chart', labels };
      const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata };
      await create(`/api/v1/namespaces/${namespace}/configmaps`, map);
      const outcomes: (string | null)[] = [];
      show('of-chart', 'gatewright', outcomes).show(report('OutOfSync'), false);
      await eventually(() => expect(outcomes).not.toEqual([]));
      expect(outcomes).toEqual([null]);
      const { metadata: written, data } = await read('of-chart');
      expect(written.labels).toEqual(labels);
      expect(data.state).toBe('OutOfSync');
      expect(written.managedFields).toContainEqual(
        expect.objectContaining({ manager: 'gatewright-status', operation: 'Apply' }),
      );
    });

    it('keeps its state when a daemon has not reached the server yet', async () => {
      const [leader, newcomer] = [show('kept'), show('kept')];
      leader.show(report('Synced'), false);
      await eventually(async () => expect(await stateOf('kept')).toBe('Synced'));
      newcomer.show(report('Degraded'), true);
      await newcomer[Symbol.asyncDispose]();
      expect(await stateOf('kept')).toBe('Synced');
    });

    it('gets one Event when two processes report the same change at once, fifty times', async () => {
      const outcomes: (string | null)[][] = [[], []];
      const pair = outcomes.map((one) => show('shared', 'admin', one));
      const states = ['Synced', 'Degraded'] as const;
      for (let round = 0; round < 50; round += 1) {
        const state = states[round % 2]!;
        for (const one of pair) one.show(report(state), false);
        await eventually(() =>
          expect(outcomes.map(({ length }) => length)).toEqual([round + 1, round + 1]),
        );
        expect(await stateOf('shared')).toBe(state);
      }
      expect(outcomes.flat().filter((reason) => reason !== null)).toEqual([]);
      await Promise.all(pair.map((one) => one[Symbol.asyncDispose]()));
      const events = await notes('shared');
      expect(events.filter((note) => note.startsWith('platform'))).toHaveLength(50);
    });

    it('waits for an unreachable cluster, then reports the newest state, and blocks nobody', async () => {
      const outcomes: (string | null)[] = [];
      const status = show('late', 'admin', outcomes);
      await api.stop();
      status.show(report('Degraded'), false);
      await eventually(() => expect(outcomes.at(-1)).toContain('is out of reach'));
      status.show(report('Suspended'), false);
      await api.start();
      await eventually(() => expect(outcomes.at(-1)).toBeNull());
      await eventually(async () => expect(await stateOf('late')).toBe('Suspended'));
      expect(await notes('late')).not.toContain(expect.stringContaining('Degraded'));
    });

    it('reports that it may not be written, and stops at once on dispose', async () => {
      const outcomes: (string | null)[] = [];
      const status = show('forbidden', 'nobody', outcomes);
      status.show(report('Synced'), false);
      await eventually(() => expect(outcomes.length).toBeGreaterThan(2));
      expect(outcomes[0]).toContain('cannot get resource "configmaps"');
      await status[Symbol.asyncDispose]();
      const { length } = outcomes;
      status.show(report('Degraded'), false);
      expect(outcomes).toHaveLength(length);
    });
  },
);
