/** Tests that a Kubernetes Lease has at most one holder, judged by the monotonic clock of each process. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { KubeClient } from '../../src/kube/kube-client.ts';
import { getLease, type LeaseSpec } from '../../src/kube/leases.ts';
import { ClusterLock } from '../../src/sync/daemon/cluster-lock.ts';
import { type KubernetesApi, startKubernetesApi, unavailable } from './kubernetes-api.ts';

const namespace = 'gateways';

describe.skipIf(unavailable !== null)(
  `the Lease of a cluster${unavailable === null ? '' : ` (${unavailable})`}`,
  () => {
    let api: KubernetesApi;
    let admin: KubeClient;
    /** Monotonic clock of all locks. */
    let nowMs = 0;
    const open: ClusterLock[] = [];

    beforeAll(async () => {
      // Locks take no turns by timer: a turn begun before a test changes the Lease would report the old state.
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
      api = await startKubernetesApi();
      admin = api.client('admin');
      await api.request({
        method: 'POST',
        path: '/api/v1/namespaces',
        body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      });
    });
    afterAll(async () => {
      await Promise.all(open.map((one) => one[Symbol.asyncDispose]()));
      vi.useRealTimers();
      await api?.[Symbol.asyncDispose]();
    });

    function contend(name: string, changes: boolean[] = []) {
      const client = api.client('admin');
      const lock = new ClusterLock({
        client,
        place: { namespace, name },
        host: 'pod',
        clock: systemClock,
        monotonicMs: () => nowMs,
        onChange: (isHeld) => changes.push(isHeld),
      });
      open.push(lock);
      return { lock, kill: async () => await client[Symbol.asyncDispose]() };
    }

    const specOf = async (name: string): Promise<LeaseSpec> =>
      (await getLease(admin, { namespace, name }))!.spec;

    const patch = async (name: string, spec: LeaseSpec & { renewTime?: string }): Promise<void> => {
      await api.request({
        method: 'PATCH',
        path: `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`,
        contentType: 'application/merge-patch+json',
        body: { spec },
      });
    };

    it('goes to the first lock, which others name, and to the next once it is released', async () => {
      const changes: boolean[] = [];
      const [one, two] = [contend('simple', changes).lock, contend('simple').lock];
      expect(one.standbyReason).toContain('nobody yet');
      await one.confirm();
      await two.confirm();
      expect(one.standbyReason).toBeNull();
      expect(two.standbyReason).toContain((await specOf('simple')).holderIdentity);
      await one[Symbol.asyncDispose]();
      expect(await specOf('simple')).toMatchObject({ holderIdentity: '', leaseTransitions: 0 });
      await two.confirm();
      expect(two.standbyReason).toBeNull();
      expect(await specOf('simple')).toMatchObject({ leaseTransitions: 1 });
      expect(changes).toEqual([true]);
    });

    it('passes from a dead holder after its duration on the own clock, whatever its timestamps', async () => {
      for (const renewTime of ['1999-01-01T00:00:00.000000Z', '2999-01-01T00:00:00.000000Z']) {
        const name = `died-${renewTime.slice(0, 4)}`;
        const [one, two] = [contend(name), contend(name).lock];
        await one.lock.confirm();
        await one.kill();
        await patch(name, { renewTime });
        await two.confirm();
        nowMs += 14_999;
        await two.confirm();
        expect(two.standbyReason).not.toBeNull();
        expect(one.lock.standbyReason).not.toBeNull();
        nowMs += 1;
        await two.confirm();
        expect(two.standbyReason).toBeNull();
      }
    });

    it('stays with a holder that renews it, however long', async () => {
      const [one, two] = [contend('renewed').lock, contend('renewed').lock];
      for (let turns = 0; turns < 20; turns += 1) {
        nowMs += 9_000;
        await one.confirm();
        await two.confirm();
        expect([one.standbyReason === null, two.standbyReason === null]).toEqual([true, false]);
      }
      expect(await specOf('renewed')).toMatchObject({ leaseTransitions: 0 });
    });

    it('is lost at once to another writer, and does not return by itself', async () => {
      const changes: boolean[] = [];
      const { lock } = contend('taken', changes);
      await lock.confirm();
      await patch('taken', { holderIdentity: 'another' });
      await lock.confirm();
      expect(lock.standbyReason).toContain('another');
      expect(changes).toEqual([true, false]);
    });

    it('lapses after ten seconds without a response, and is held again after the next one', async () => {
      const { lock } = contend('away');
      await lock.confirm();
      await api.stop();
      nowMs += 9_999;
      await lock.confirm();
      expect(lock.standbyReason).toBeNull();
      nowMs += 1;
      expect(lock.standbyReason).not.toBeNull();
      await lock.confirm();
      expect(lock.standbyReason).toContain('is out of reach');
      await api.start();
      await lock.confirm();
      expect(lock.standbyReason).toBeNull();
    });

    it('has one holder at most, with ten contenders at once, a hundred times', async () => {
      const crowd = Array.from({ length: 10 }, () => contend('crowd').lock);
      const holders = new Set<ClusterLock>();
      for (let round = 0; round < 100; round += 1) {
        await Promise.all(crowd.map((one) => one.confirm()));
        const held = crowd.filter(({ standbyReason }) => standbyReason === null);
        expect(held).toHaveLength(1);
        holders.add(held[0]!);
        // Like an operator who takes the Lease from its holder.
        if (round % 5 === 4) {
          await patch('crowd', { holderIdentity: '' });
          nowMs += 10_000;
        }
      }
      expect(holders.size).toBeGreaterThan(1);
    });

    it('withholds leadership with the message of the cluster when it may not be written', async () => {
      const lock = new ClusterLock({
        client: api.client('nobody'),
        place: { namespace, name: 'none' },
        host: 'pod',
        clock: systemClock,
        onChange: () => undefined,
      });
      open.push(lock);
      await lock.confirm();
      expect(lock.standbyReason).toContain('cannot get resource "leases"');
    });
  },
);
