/** Guarantees the chart on a real cluster: from `helm install` to `helm uninstall`, with nothing lost in between. */
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { helmMajors } from '../../chart/helm.ts';
import { eventually } from '../../support/server/eventually.ts';
import { manifest } from '../../support/sync/manifests.ts';
import { type Cluster, startCluster } from '../kit/cluster.ts';
import { type Target, type Toll, underLoad } from './load.ts';
import { type Platform, startPlatform } from './platform.ts';
import { Release } from './release.ts';

const why = inject('noCluster');

/** Each step is one for a release of each major of Helm, at the same time. */
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
  const loaded = async (act: (release: Release) => Promise<unknown>): Promise<Toll[]> =>
    await underLoad(cluster, targets, async () => {
      await each(async (release) => {
        await act(release);
        await release.isSettled();
      });
    });

  /** Makes the branch hold keys of these names and nothing else. */
  function commitKeys({ namespace }: Release, ...names: readonly string[]): void {
    const files = names.map((name) => {
      const place = `{namespace: ${namespace}, name: ${name}, key: api-key}`;
      const spec = `scopes: [workspaces.list]\nsecretOutput: {kubernetesSecret: ${place}}`;
      return [`${name}.yaml`, manifest('ApiKey', name, spec)];
    });
    platform.commit(namespace, Object.fromEntries(files));
  }

  /** The value that sync has delivered, once it has. */
  async function delivered(release: Release, name: string): Promise<string> {
    return await eventually(async () => {
      const path = 'jsonpath={.data.api-key}';
      const value = await release.kubectl(['get', 'secret', name, '-o', path]);
      expect(value).not.toBe('');
      return Buffer.from(value, 'base64').toString();
    });
  }

  /** That nothing was lost, and that what was acknowledged is there. */
  async function expectNothingLost(tolls: readonly Toll[]): Promise<void> {
    expect(tolls.map(({ lost }) => lost)).toEqual(tolls.map(() => []));
    await each(async (release, index) => {
      const names = new Set(await release.workspaces(targets[index]!));
      expect(tolls[index]!.made.length).toBeGreaterThan(50);
      expect(tolls[index]!.made.filter((name) => !names.has(name))).toEqual([]);
    });
  }

  it('is installed with the values of the example, and is ready', async () => {
    await each(async (release) => await release.install(release.values('now')));
    targets = await each(async (release) => await release.target());
    await each(async (release) => await release.isSettled());
  });

  it('passes its own test, which makes, uses and deletes a key', async () => {
    const told = await each(async (release) => await release.helm(['test', 'gw']));
    for (const one of told) expect(one).toMatch(/Phase: +Succeeded/);
  });

  it('delivers a key of a signed commit as a Secret, which lets in', async () => {
    await each(async (release, index) => {
      const key = await delivered(release, 'first');
      const { status } = await release.ask({ ...targets[index]!, key }, '/workspaces');
      expect(status).toBe(200);
    });
  });

  it('loses nothing in an upgrade that migrates', async () => {
    const tolls = await loaded(async (release) => await release.upgrade(release.values('next')));
    await expectNothingLost(tolls);
  });

  it('loses requests where pods do not drain, which shows that the count would tell', async () => {
    const abrupt = { lameDuckSeconds: 0, drainSeconds: 0 };
    const values = (release: Release, round: number): object =>
      release.values('next', {
        server: { ...abrupt, pod: { annotations: { round: `${round}` } } },
      });
    await each(async (release) => await release.upgrade(values(release, 0)));
    let lost = 0;
    for (let round = 1; lost === 0 && round <= 5; round += 1) {
      const tolls = await loaded(async (release) => await release.upgrade(values(release, round)));
      lost += tolls.flatMap((toll) => toll.lost).length;
    }
    expect(lost).toBeGreaterThan(0);
    await each(async (release) => await release.upgrade(release.values('next')));
    await each(async (release) => await release.isSettled());
  });

  it('takes an upgrade back whose migration fails, and loses nothing', async () => {
    const tolls = await loaded(async (release) => {
      const before = await release.images();
      await expect(release.tryUpgrade(release.values('broken'), '60s')).rejects.toThrow();
      expect(await release.images()).toEqual(before);
    });
    await expectNothingLost(tolls);
  });

  it('takes an upgrade back whose pods never become ready, and loses nothing', async () => {
    const tolls = await loaded(async (release) => {
      const before = await release.images();
      const mysql = { database: 'no_such_database' };
      const values = { ...release.values('now'), mysql };
      await expect(release.tryUpgrade(values, '60s')).rejects.toThrow();
      expect(await release.images()).toEqual(before);
    });
    await expectNothingLost(tolls);
  });

  it('loses nothing while a node is drained', async () => {
    const tolls = await underLoad(cluster, targets, async () => {
      await cluster.kubectl([
        ...['drain', 'node2', '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=10m'],
      ]);
    });
    await cluster.kubectl(['uncordon', 'node2']);
    await expectNothingLost(tolls);
  });

  it('outlives the database without a restart, and goes on when it is back', async () => {
    const restarts = async (release: Release): Promise<unknown> =>
      [...(await release.pods('server')), ...(await release.pods('gateway'))].map(
        ({ metadata: { uid }, status }) => [
          uid,
          status.containerStatuses?.map((one) => one.restartCount),
        ],
      );
    const before = await each(restarts);
    await cluster.kubectl(
      'delete pod mysql-0 --namespace=databases --grace-period=0 --force'.split(' '),
    );
    await cluster.kubectl(
      'rollout status statefulset/mysql --namespace=databases --timeout=10m'.split(' '),
    );
    await each(async (release, index) => {
      await eventually(async () => {
        expect((await release.ask(targets[index]!, '/workspaces')).status).toBe(200);
      });
      await release.isSettled();
    });
    expect(await each(restarts)).toEqual(before);
  });

  it('loses nothing while the API server is away for a minute', async () => {
    const tolls = await underLoad(cluster, targets, async () => {
      await cluster.holdApiServer();
      await setTimeout(60_000);
      await cluster.releaseApiServer();
    });
    await expectNothingLost(tolls);
    await each(async (release) => {
      commitKeys(release, 'first', 'second');
      expect(await delivered(release, 'second')).not.toBe('');
    });
  });

  it('goes on with another daemon when the one that leads is killed', async () => {
    await each(async (release) => {
      const pods = await release.pods('sync');
      const leaders = await release.leaders();
      const leader = pods.find(({ metadata }) => leaders.includes(metadata.name))!;
      await release.killPod(leader);
      commitKeys(release, 'first', 'second', 'third');
      expect(await delivered(release, 'third')).not.toBe('');
    });
  });

  it('goes back to the version before, on the schema of the one after', async () => {
    const tolls = await loaded(async (release) => await release.rollback(1));
    await expectNothingLost(tolls);
  });

  it('refuses to go back where the older version would do harm, and the newer one serves on', async () => {
    await each(async (release) => await release.upgrade(release.values('breaking')));
    await each(async (release) => await release.isSettled());
    const goBack = async (release: Release): Promise<void> => {
      await expect(release.rollback(1, '20s')).rejects.toThrow();
      const server = ['-l', 'app.kubernetes.io/component=server', '--container=migrate'];
      await eventually(async () => {
        expect(await release.kubectl(['logs', ...server])).toContain('9003_breaking');
      });
    };
    const tolls = await underLoad(cluster, targets, async () => await each(goBack));
    await expectNothingLost(tolls);
  });

  it('leaves nothing when it is uninstalled but keys that sync has made, and what it was given', async () => {
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
          ...['first', 'gatewright-git', 'gatewright-master-key', 'gatewright-mysql'],
          ...['gatewright-mysql-owner', 'gatewright-mysql-tls', 'gatewright-webhook', 'second'],
          'third',
        ].map((name) => `secret/${name}`),
      );
    });
  });
});
