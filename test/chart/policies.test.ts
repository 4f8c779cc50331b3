/** Runs conftest with the rules of `policies/` on all objects of a release together. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { goProgram } from './go-programs.ts';
import { renderText } from './helm.ts';
import { stories } from './stories.ts';

const module = 'github.com/open-policy-agent/conftest';
/** Its hundred modules take minutes to build, so the build is not part of every run. */
const isWanted = (process.env.GATEWRIGHT_TEST_CONFTEST ?? '') !== '';
const { path: program, missing } = isWanted
  ? goProgram('conftest', module, 'v0.66.0')
  : { path: '', missing: 'GATEWRIGHT_TEST_CONFTEST is not set, which builds conftest' };

interface ConftestResult {
  readonly failures?: readonly { readonly msg: string }[];
}

/** The rules that the objects break. */
async function brokenRules(objects: string): Promise<string[]> {
  const policies = join(import.meta.dirname, 'policies');
  const words = ['test', '--combine', '--output', 'json', '--parser', 'yaml', '--policy', policies];
  const { promise, resolve: done, reject } = Promise.withResolvers<string>();
  const child = execFile(program, [...words, '-'], (error, stdout, stderr) => {
    if (stdout.startsWith('[')) done(stdout);
    else reject(new Error(stderr, { cause: error }));
  });
  child.stdin!.end(objects);
  const results = JSON.parse(await promise) as ConftestResult[];
  return results.flatMap(({ failures = [] }) => failures.map(({ msg }) => msg));
}

describe.skipIf(missing !== null)(`conftest${missing === null ? '' : ` (${missing})`}`, () => {
  it.each(Object.entries(stories))(
    'finds every object that another one of %s names',
    async (_, values) => {
      expect(await brokenRules(await renderText(values))).toEqual([]);
    },
  );

  it('finds a Service without pods, a route without a Service, and a password as text', async () => {
    const broken = `
kind: Service
metadata: {name: api}
spec: {selector: {app: none}, ports: [{name: http, port: 80}]}
---
kind: Ingress
metadata: {name: route}
spec: {rules: [{http: {paths: [{backend: {service: {name: api, port: {number: 81}}}}]}}]}
---
kind: Deployment
metadata: {name: server}
spec:
  template:
    metadata: {labels: {app: server}}
    spec:
      containers: [{image: 'registry.example.com/server:1', env: [{name: DB_PASS, value: text}]}]
---
kind: ClusterRole
metadata: {name: everything}
rules: [{apiGroups: ['*'], resources: [pods], verbs: [get]}]
`;
    expect((await brokenRules(broken)).toSorted()).toEqual([
      'ClusterRole everything grants * in apiGroups',
      'Deployment server has the text of DB_PASS',
      'Ingress route leads to api, which has no such port',
      'Service api selects no pod',
    ]);
  });
});
