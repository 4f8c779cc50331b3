/** Runs kube-score, a static analysis of Kubernetes objects, on what the chart renders. */
import { execFile } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { goProgram } from './go-programs.ts';
import { renderText } from './helm.ts';
import { embedded, everything, privateCluster } from './stories.ts';

const { path: program, missing } = goProgram(
  'kube-score',
  'github.com/zegl/kube-score/cmd/kube-score',
  'v1.20.0',
);

/** Checks that the chart does not follow on purpose. */
const ignored = [
  // Tags of releases do not change, and `Always` would make each start depend on the registry.
  'container-image-pull-policy',
  // The service of the embedded database has an address, because clients connect to it by name and port.
  'statefulset-has-servicename',
  // The image of MariaDB has the user 999.
  'container-security-context-user-group-id',
  // One pod for trials.
  'statefulset-has-poddisruptionbudget',
  // Spreading over nodes is a topology spread constraint.
  'deployment-has-host-podantiaffinity',
  'statefulset-has-host-podantiaffinity',
  // The embedded database has no better check than its port.
  'pod-probes-identical',
];

function score(objects: string): Promise<string> {
  const { promise, resolve: done } = Promise.withResolvers<string>();
  const words = ['score', '--output-format', 'ci', '--ignore-container-cpu-limit', '-'];
  const options = ignored.flatMap((name) => ['--ignore-test', name]);
  const child = execFile(program, [...words, ...options], (_, stdout) => done(stdout));
  child.stdin!.end(objects);
  return promise;
}

describe.skipIf(missing !== null)(`kube-score${missing === null ? '' : ` (${missing})`}`, () => {
  it.each(Object.entries({ everything, privateCluster, embedded }))(
    'finds nothing critical in the objects of %s',
    async (_, values) => {
      const lines = (await score(await renderText(values))).split('\n');
      expect(lines.filter((line) => line.startsWith('[OK]')).length).toBeGreaterThan(5);
      // The pod of `helm test` ends by itself, so it has no probes.
      const critical = lines.filter((line) => /^\[(CRITICAL|WARNING)\]/.test(line));
      expect(critical.filter((line) => !line.includes('-test v1/Pod'))).toEqual([]);
    },
  );
});
