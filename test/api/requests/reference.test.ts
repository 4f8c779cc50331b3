/** Verifies that docs/reference/api.md lists every route with its mounts and scopes. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { adminOperations } from '../../support/interface/response-check.ts';
import { exchange } from '../../support/network/exchange.ts';
import { startTestServer } from '../../support/server/server.ts';

const prefixes = [
  ['/admin/v2', 'admin'],
  ['/v1', 'v1'],
  ['/v2', 'v2'],
] as const;

interface Operation {
  readonly 'x-required-scope'?: string;
  readonly tags?: readonly string[];
}

it('lists every route with its mounts and fixed scope, and none that does not exist', async () => {
  await using server = await startTestServer();
  const { body } = await exchange('GET', `${server.url}/openapi.json`, undefined, {});
  const served = new Map<string, { mounts: string[]; scope: string | undefined }>();
  for (const [pattern, methods] of Object.entries<Record<string, Operation>>(body.paths)) {
    const [prefix, mount] = prefixes.find(([start]) => pattern.startsWith(`${start}/`)) ?? [
      '',
      'root',
    ];
    for (const [method, operation] of adminOperations(methods)) {
      const name = `${method.toUpperCase()} ${pattern.slice(prefix.length)}`;
      const route = served.get(name) ?? { mounts: [], scope: operation['x-required-scope'] };
      route.mounts.push(mount);
      served.set(name, route);
    }
  }
  const page = readFileSync(new URL('../../../docs/reference/api.md', import.meta.url), 'utf8');
  const rows = page.matchAll(
    /^\| `((?:GET|POST|PUT|PATCH|DELETE) [^`]+)` \| ([\w, ]+) \| (.+) \|$/gm,
  );
  const reported = [...rows].map(([, name, mounts, scope]) => [
    name,
    mounts!.split(', ').toSorted(),
    /^`(\w+\.\w+)`$/.exec(scope!)?.[1],
  ]);
  const real = [...served].map(([name, { mounts, scope }]) => [name, mounts.toSorted(), scope]);
  const byName = (one: unknown[], two: unknown[]) => (String(one[0]) < String(two[0]) ? -1 : 1);
  expect(reported.toSorted(byName)).toEqual(real.toSorted(byName));
});
