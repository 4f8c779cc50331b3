/** Knows definitions of kinds that others make, from their modules of Go: of Prometheus' operator, the Gateway API, Argo CD and Flux. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';

/** Files of definitions by the module that they are in. */
const modules: Readonly<Record<string, readonly string[]>> = {
  'github.com/prometheus-operator/prometheus-operator@v0.85.0': [
    'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml',
    'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml',
  ],
  'sigs.k8s.io/gateway-api@v1.4.0': [
    'config/crd/standard/gateway.networking.k8s.io_httproutes.yaml',
  ],
  'github.com/argoproj/argo-cd/v3@v3.1.0': ['manifests/crds/application-crd.yaml'],
  'github.com/fluxcd/helm-controller@v1.4.0': [
    'config/crd/bases/helm.toolkit.fluxcd.io_helmreleases.yaml',
  ],
  'github.com/fluxcd/source-controller@v1.7.0': [
    'config/crd/bases/source.toolkit.fluxcd.io_ocirepositories.yaml',
  ],
};

export interface ResourceDefinition {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly names: { readonly kind: string; readonly plural: string };
  };
}

/** All of them; or why they cannot be had here. Go keeps what it has downloaded. */
export function resourceDefinitions(): readonly ResourceDefinition[] | string {
  const words = ['mod', 'download', '-json', ...Object.keys(modules)];
  // Outside of any module, which would have a say in versions.
  try {
    const told = execFileSync('go', words, {
      ...{ cwd: tmpdir(), encoding: 'utf8', maxBuffer: 2 ** 22 },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const found = JSON.parse(`[${told.trim().replaceAll('}\n{', '},{')}]`) as {
      readonly Path: string;
      readonly Version: string;
      readonly Dir: string;
    }[];
    return found.flatMap(({ Path, Version, Dir }) =>
      modules[`${Path}@${Version}`]!.map((file) => parse(readFileSync(join(Dir, file), 'utf8'))),
    );
  } catch (error) {
    const [line] = (error as Error).message.split('\n', 1);
    return `Go cannot download the definitions of kinds that others make (${line})`;
  }
}
