/** Tests that the test cluster has real nodes, pods, DNS and security profiles, and leaves no trace. */
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Cluster, startCluster } from '../kit/cluster.ts';
import { registry } from '../kit/images.ts';

const why = inject('noCluster');

describe.skipIf(why !== null)(`the cluster of the tests${why === null ? '' : ` (${why})`}`, () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.loadImages(inject('images'));
  });
  afterAll(async () => await cluster?.[Symbol.asyncDispose]());

  it('runs a pod of the image on each node, which resolves Services by name', async () => {
    const image = `${registry}/gatewright/gatewright:0.1.0`;
    const lookup = `require('dns').promises.lookup('kubernetes.default.svc.cluster.local').then(console.log)`;
    for (const node of cluster.nodes) {
      const container = { name: 'main', image, command: ['node', '--eval', lookup] };
      const spec = { nodeName: node, restartPolicy: 'Never', containers: [container] };
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: `try-${node}` }, spec };
      await cluster.kubectl(['create', '-f', '-'], JSON.stringify(pod));
    }
    for (const node of cluster.nodes) {
      const ended = '--for=jsonpath={.status.phase}=Succeeded';
      await cluster.kubectl(['wait', ended, '--timeout=5m', `pod/try-${node}`]);
      expect(await cluster.kubectl(['logs', `try-${node}`])).toContain('198.18.128.1');
    }
  });

  it('rejects a pod that the restricted profile forbids', async () => {
    await cluster.kubectl(['create', 'namespace', 'strict']);
    const label = 'pod-security.kubernetes.io/enforce=restricted';
    await cluster.kubectl(['label', 'namespace', 'strict', label]);
    const words = ['run', 'bad', '--namespace=strict', '--image=any', '--privileged'];
    await expect(cluster.kubectl(words)).rejects.toThrow('violates PodSecurity "restricted');
  });

  it('restarts its API server without loss of objects', async () => {
    await cluster.holdApiServer();
    await expect(cluster.kubectl(['get', 'namespaces'])).rejects.toThrow();
    await cluster.releaseApiServer();
    expect(await cluster.kubectl(['get', 'namespaces'])).toContain('strict');
  });

  it('removes all folders and control groups', async () => {
    const own = (name: string): boolean => name.startsWith(`gatewright-cluster-${process.pid}-`);
    const left = (): string[] =>
      ['/tmp', ...readdirSync('/sys/fs/cgroup').map((name) => `/sys/fs/cgroup/${name}`)]
        .flatMap((folder) => readdirSync(folder))
        .filter(own);
    const other = await startCluster(1);
    const names = new Set(left());
    await other[Symbol.asyncDispose]();
    const after = new Set(left());
    expect(names.size - after.size).toBe(1);
  });
});
