/** Tests the chart on a real cluster from `helm install` to `helm uninstall`, without lost requests. */
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { helmMajors } from '../../chart/helm.ts';
import { eventually } from '../../support/server/eventually.ts';
import { manifest } from '../../support/sync/manifests.ts';
import { type Cluster, startCluster } from '../kit/cluster.ts';
import { type LoadReport, type Target, underLoad } from './load.ts';
import { type Platform, startPlatform } from './platform.ts';
import { Release } from './release.ts';

const why = inject('noCluster');

/** Each step runs for a release of each major version of Helm at once. */
describe.skipIf(why !== null)(`the chart on a cluster${why === null ? '' : ` (${why})`}`, () => {
  let cluster: Cluster;
  let platform: Platform;
  let releases: readonly Release[];
  let targets: readonly Target[];

  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.loadImages(inject('images'));
    platform = await startPlatform(cluster);
    releases = helmMajors.map(
      (major) => new Release(cluster, platform, `gateways-${major}`, major),
    );
    await each(async (release) => {
      await platform.prepare(release.namespace);
      commitKeys(release, 'first');
    });
  });
  afterAll(async () => {
    await platform?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  const each = async <T>(act: (release: Release, index: number) => Promise<T>): Promise<T[]> =>
    await Promise.all(releases.map(act));
  const duringLoad = async (act: (release: Release) => Promise<unknown>): Promise<LoadReport[]> =>
    await underLoad(cluster, targets, async () => {
      await each(async (release) => {
        await act(release);
        await release.waitUntilSettled();
      });
    });

  /** Commits manifests of exactly these keys. */
  function commitKeys({ namespace }: Release, ...names: readonly string[]): void {
    const files = names.map((name) => {
      const target = `{namespace: ${namespace}, name: ${name}, key: api-key}`;
      const spec = `scopes: [workspaces.list]\nsecretOutput: {kubernetesSecret: ${target}}`;
      return [`${name}.yaml`, manifest('ApiKey', name, spec)];
    });
    platform.commit(namespace, Object.fromEntries(files));
  }

  /** Waits for the value that sync delivers. */
  async function deliveredValue(release: Release, name: string): Promise<string> {
    return await eventually(async () => {
      const path = 'jsonpath={.data.api-key}';
      const value = await release.kubectl(['get', 'secret', name, '-o', path]);
      expect(value).not.toBe('');
      return Buffer.from(value, 'base64').toString();
    });
  }

  /** Asserts that no request was lost and that all acknowledged workspaces exist. */
  async function expectNothingLost(reports: readonly LoadReport[]): Promise<void> {
    expect(reports.map(({ lost }) => lost)).toEqual(reports.map(() => []));
    await each(async (release, index) => {
      const names = new Set(await release.workspaces(targets[index]!));
      expect(reports[index]!.made.length).toBeGreaterThan(50);
      expect(reports[index]!.made.filter((name) => !names.has(name))).toEqual([]);
    });
  }

  it('installs with the values of the example, and becomes ready', async () => {
    await each(async (release) => await release.install(release.values('now')));
    targets = await each(async (release) => await release.target());
    await each(async (release) => await release.waitUntilSettled());
  });

  it('passes its own test, which creates, uses and deletes a key', async () => {
    const outputs = await each(async (release) => await release.helm(['test', 'gw']));
    for (const output of outputs) expect(output).toMatch(/Phase: +Succeeded/);
  });

  it('delivers a key of a signed commit as a Secret, and the key works', async () => {
    await each(async (release, index) => {
      const key = await deliveredValue(release, 'first');
      const { status } = await release.get({ ...targets[index]!, key }, '/workspaces');
      expect(status).toBe(200);
    });
  });

  it('loses no request in an upgrade that migrates', async () => {
    const reports = await duringLoad(
      async (release) => await release.upgrade(release.values('next')),
    );
    await expectNothingLost(reports);
  });

  it('loses requests when pods do not drain, which proves that losses are detected', async () => {
    const abrupt = { lameDuckSeconds: 0, drainSeconds: 0 };
    const values = (release: Release, round: number): object =>
      release.values('next', {
        server: { ...abrupt, pod: { annotations: { round: `${round}` } } },
      });
    await each(async (release) => await release.upgrade(values(release, 0)));
    let lost = 0;
    for (let round = 1; lost === 0 && round <= 5; round += 1) {
      const reports = await duringLoad(
        async (release) => await release.upgrade(values(release, round)),
      );
      lost += reports.flatMap((report) => report.lost).length;
    }
    expect(lost).toBeGreaterThan(0);
    await each(async (release) => await release.upgrade(release.values('next')));
    await each(async (release) => await release.waitUntilSettled());
  });

  it('rolls back an upgrade whose migration fails, and loses no request', async () => {
    const reports = await duringLoad(async (release) => {
      const before = await release.images();
      await expect(release.tryUpgrade(release.values('broken'), '60s')).rejects.toThrow();
      expect(await release.images()).toEqual(before);
    });
    await expectNothingLost(reports);
  });

  it('rolls back an upgrade whose pods never become ready, and loses no request', async () => {
    const reports = await duringLoad(async (release) => {
      const before = await release.images();
      const mysql = { database: 'no_such_database' };
      const values = { ...release.values('now'), mysql };
      await expect(release.tryUpgrade(values, '60s')).rejects.toThrow();
      expect(await release.images()).toEqual(before);
    });
    await expectNothingLost(reports);
  });

  it('loses no request while a node is drained', async () => {
    const reports = await underLoad(cluster, targets, async () => {
      await cluster.kubectl([
        'drain',
        'node2',
        '--ignore-daemonsets',
        '--delete-emptydir-data',
        '--timeout=10m',
      ]);
    });
    await cluster.kubectl(['uncordon', 'node2']);
    await expectNothingLost(reports);
  });

  it('survives an outage of the database without a restart', async () => {
    const restarts = async (release: Release): Promise<unknown> =>
      (await Promise.all(['server', 'gateway', 'mcp'].map((name) => release.pods(name))))
        .flat()
        .map(({ metadata: { uid }, status }) => [
          uid,
          status.containerStatuses?.map(({ restartCount }) => restartCount),
        ]);
    const before = await each(restarts);
    await cluster.kubectl(
      'delete pod mysql-0 --namespace=databases --grace-period=0 --force'.split(' '),
    );
    await cluster.kubectl(
      'rollout status statefulset/mysql --namespace=databases --timeout=10m'.split(' '),
    );
    await each(async (release, index) => {
      await eventually(async () => {
        expect((await release.get(targets[index]!, '/workspaces')).status).toBe(200);
      });
      await release.waitUntilSettled();
    });
    expect(await each(restarts)).toEqual(before);
  });

  it('loses no request during a one-minute outage of the API server', async () => {
    const reports = await underLoad(cluster, targets, async () => {
      await cluster.holdApiServer();
      await setTimeout(60_000);
      await cluster.releaseApiServer();
    });
    await expectNothingLost(reports);
    await each(async (release) => {
      commitKeys(release, 'first', 'second');
      expect(await deliveredValue(release, 'second')).not.toBe('');
    });
  });

  it('continues with another daemon when the leader is killed', async () => {
    await each(async (release) => {
      const pods = await release.pods('sync');
      const leaders = await release.leaders();
      const leader = pods.find(({ metadata }) => leaders.includes(metadata.name))!;
      await release.killPod(leader);
      commitKeys(release, 'first', 'second', 'third');
      expect(await deliveredValue(release, 'third')).not.toBe('');
    });
  });

  it('rolls back to the previous version on the newer schema', async () => {
    const reports = await duringLoad(async (release) => await release.rollback(1));
    await expectNothingLost(reports);
  });

  it('refuses a rollback to an incompatible version, and keeps serving', async () => {
    await each(async (release) => await release.upgrade(release.values('breaking')));
    await each(async (release) => await release.waitUntilSettled());
    const attemptRollback = async (release: Release): Promise<void> => {
      await expect(release.rollback(1, '20s')).rejects.toThrow();
      const server = ['-l', 'app.kubernetes.io/component=server', '--container=migrate'];
      await eventually(async () => {
        expect(await release.kubectl(['logs', ...server])).toContain('9003_breaking');
      });
    };
    const reports = await underLoad(cluster, targets, async () => await each(attemptRollback));
    await expectNothingLost(reports);
  });

  it('leaves only delivered keys and given Secrets after the uninstallation', async () => {
    await each(async (release) => {
      await release.helm(['uninstall', 'gw', '--wait']);
      const kinds =
        'all,configmaps,secrets,serviceaccounts,roles,rolebindings,ingresses,networkpolicies,leases,hpa,pdb';
      const label = 'app.kubernetes.io/instance=gw';
      await eventually(async () => {
        expect(await release.kubectl(['get', kinds, '-l', label, '-o', 'name'])).toBe('');
      });
      const secrets = await release.kubectl(['get', 'secrets', '-o', 'name']);
      expect(secrets.trim().split('\n')).toEqual(
        [
          'first',
          'gatewright-git',
          'gatewright-master-key',
          'gatewright-mysql',
          'gatewright-mysql-owner',
          'gatewright-mysql-tls',
          'gatewright-webhook',
          'second',
          'third',
        ].map((name) => `secret/${name}`),
      );
    });
  });
});
