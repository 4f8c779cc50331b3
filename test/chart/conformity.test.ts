/** Validates what the chart renders with kubeconform against the schemas of Kubernetes, unknown fields included. */
import { execFile } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { goProgram } from './go-programs.ts';
import { renderText } from './helm.ts';
import { missingSchemas, schemaLocation } from './kubernetes-schemas.ts';
import { embedded, everything, privateCluster } from './stories.ts';

const module = 'github.com/yannh/kubeconform/cmd/kubeconform';
const { path: program, missing: missingProgram } = goProgram('kubeconform', module, 'v0.8.0');
const missing = missingProgram ?? missingSchemas();

/** Kinds of the Prometheus operator and of the Gateway API, which are not part of Kubernetes. */
const skipped = 'ServiceMonitor,PrometheusRule,HTTPRoute';

interface Report {
  readonly resources?: readonly object[];
  readonly summary: Readonly<Record<'valid' | 'invalid' | 'errors' | 'skipped', number>>;
}

function validate(objects: string): Promise<Report> {
  const { promise, resolve: done } = Promise.withResolvers<Report>();
  const words = ['-strict', '-summary', '-output', 'json', '-skip', skipped];
  const child = execFile(program, [...words, '-schema-location', schemaLocation], (_, stdout) =>
    done(JSON.parse(stdout) as Report),
  );
  child.stdin!.end(objects);
  return promise;
}

describe.skipIf(missing !== null)(`kubeconform${missing === null ? '' : ` (${missing})`}`, () => {
  it.each(Object.entries({ everything, privateCluster, embedded }))(
    'accepts all objects of %s',
    async (_, values) => {
      const { resources = [], summary } = await validate(await renderText(values));
      expect(resources).toEqual([]);
      expect(summary).toMatchObject({ invalid: 0, errors: 0 });
      expect(summary.valid).toBeGreaterThan(5);
    },
  );

  it('refuses a field that Kubernetes does not have', async () => {
    const text = await renderText(embedded);
    const misspelt = text.replaceAll('terminationGracePeriodSeconds', 'terminationGraceSeconds');
    const { summary } = await validate(misspelt);
    expect(summary.invalid).toBeGreaterThan(0);
  });
});
