/** Guarantees of the Lease of Kubernetes: one holder at most, judged by no clock but one's own, whoever dies or is away. */
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
    /** Of all locks. */
    let nowMs = 0;
    const open: ClusterLock[] = [];

    beforeAll(async () => {
      // They take no turns of their own: one that began before a test changed the Lease tells what was.
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
      api = await startKubernetesApi();
      admin = api.client('admin');
      await admin.request({
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

    function contend(name: string, told: boolean[] = []) {
      const client = api.client('admin');
      const lock = new ClusterLock({
        ...{ client, place: { namespace, name }, host: 'pod', clock: systemClock },
        monotonicMs: () => nowMs,
        onChange: (isHeld) => told.push(isHeld),
      });
      open.push(lock);
      return { lock, kill: async () => await client[Symbol.asyncDispose]() };
    }

    const specOf = async (name: string): Promise<LeaseSpec> =>
      (await getLease(admin, { namespace, name }))!.spec!;

    const patch = async (name: string, spec: LeaseSpec): Promise<void> => {
      await admin.request({
        method: 'PATCH',
        path: `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`,
        contentType: 'application/merge-patch+json',
        body: { spec },
      });
    };

    it('is held by the first, which others name, and by the next once it is given back', async () => {
      const told: boolean[] = [];
      const [one, two] = [contend('simple', told).lock, contend('simple').lock];
      expect(one.keptBack).toContain('nobody yet');
      await one.turn();
      await two.turn();
      expect(one.keptBack).toBeNull();
      expect(two.keptBack).toContain((await specOf('simple')).holderIdentity);
      await one[Symbol.asyncDispose]();
      expect(await specOf('simple')).toMatchObject({ holderIdentity: '', leaseTransitions: 0 });
      await two.turn();
      expect(two.keptBack).toBeNull();
      expect(await specOf('simple')).toMatchObject({ leaseTransitions: 1 });
      expect(told).toEqual([true]);
    });

    it('of one that died passes on after its time by the own clock, whatever it says of moments', async () => {
      for (const renewTime of ['1999-01-01T00:00:00.000000Z', '2999-01-01T00:00:00.000000Z']) {
        const name = `died-${renewTime.slice(0, 4)}`;
        const [one, two] = [contend(name), contend(name).lock];
        await one.lock.turn();
        await one.kill();
        await patch(name, { renewTime });
        await two.turn();
        nowMs += 14_999;
        await two.turn();
        expect(two.keptBack).not.toBeNull();
        expect(one.lock.keptBack).not.toBeNull();
        nowMs += 1;
        await two.turn();
        expect(two.keptBack).toBeNull();
      }
    });

    it('that is renewed passes to nobody, however long it is held', async () => {
      const [one, two] = [contend('renewed').lock, contend('renewed').lock];
      for (let turns = 0; turns < 20; turns += 1) {
        nowMs += 9_000;
        await one.turn();
        await two.turn();
        expect([one.keptBack === null, two.keptBack === null]).toEqual([true, false]);
      }
      expect(await specOf('renewed')).toMatchObject({ leaseTransitions: 0 });
    });

    it('is lost at once to whoever has written it, and does not come back by itself', async () => {
      const told: boolean[] = [];
      const { lock } = contend('taken', told);
      await lock.turn();
      await patch('taken', { holderIdentity: 'another' });
      await lock.turn();
      expect(lock.keptBack).toContain('another');
      expect(told).toEqual([true, false]);
    });

    it('is not counted on after ten seconds without an answer, and is held again once one comes', async () => {
      const { lock } = contend('away');
      await lock.turn();
      await api.stop();
      nowMs += 9_999;
      await lock.turn();
      expect(lock.keptBack).toBeNull();
      nowMs += 1;
      expect(lock.keptBack).not.toBeNull();
      await lock.turn();
      expect(lock.keptBack).toContain('is out of reach');
      await api.start();
      await lock.turn();
      expect(lock.keptBack).toBeNull();
    });

    it('has one holder at most, with ten that ask at once, a hundred times', async () => {
      const crowd = Array.from({ length: 10 }, () => contend('crowd').lock);
      const holders = new Set<ClusterLock>();
      for (let round = 0; round < 100; round += 1) {
        await Promise.all(crowd.map((one) => one.turn()));
        const held = crowd.filter(({ keptBack }) => keptBack === null);
        expect(held).toHaveLength(1);
        holders.add(held[0]!);
        // As an operator takes it away from whoever has it.
        if (round % 5 === 4) {
          await patch('crowd', { holderIdentity: '' });
          nowMs += 10_000;
        }
      }
      expect(holders.size).toBeGreaterThan(1);
    });

    it('that may not be written keeps back, with the words of the cluster', async () => {
      const lock = new ClusterLock({
        ...{ client: api.client('nobody'), place: { namespace, name: 'none' }, host: 'pod' },
        ...{ clock: systemClock, onChange: () => undefined },
      });
      open.push(lock);
      await lock.turn();
      expect(lock.keptBack).toContain('cannot get resource "leases"');
    });
  },
);
