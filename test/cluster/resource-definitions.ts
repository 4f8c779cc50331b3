/** Downloads custom resource definitions from Go modules: Prometheus operator, Gateway API, cert-manager, Argo CD and Flux. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';

/** Definition files by module. */
const modules: Readonly<Record<string, readonly string[]>> = {
  'github.com/prometheus-operator/prometheus-operator@v0.85.0': [
    'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml',
    'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml',
  ],
  'sigs.k8s.io/gateway-api@v1.4.0': [
    'config/crd/standard/gateway.networking.k8s.io_httproutes.yaml',
  ],
  'github.com/cert-manager/cert-manager@v1.19.0': ['deploy/crds/cert-manager.io_certificates.yaml'],
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

/** Returns all definitions, or why they are not available. Go caches the downloads. */
export function resourceDefinitions(): readonly ResourceDefinition[] | string {
  const words = ['mod', 'download', '-json', ...Object.keys(modules)];
  // Run outside of any module, whose requirements would change the versions.
  try {
    const output = execFileSync('go', words, {
      cwd: tmpdir(),
      encoding: 'utf8',
      maxBuffer: 2 ** 22,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const downloads = JSON.parse(`[${output.trim().replaceAll('}\n{', '},{')}]`) as {
      readonly Path: string;
      readonly Version: string;
      readonly Dir: string;
    }[];
    return downloads.flatMap(({ Path, Version, Dir }) =>
      modules[`${Path}@${Version}`]!.map((file) => parse(readFileSync(join(Dir, file), 'utf8'))),
    );
  } catch (error) {
    const [line] = (error as Error).message.split('\n', 1);
    return `Go cannot download the custom resource definitions (${line})`;
  }
}
