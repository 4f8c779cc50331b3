/** Provides the tests with a Kubernetes API with its programs, from KUBEBUILDER_ASSETS or from the test kit. */
import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';
import type { TestProject } from 'vitest/node';
import { missingKubernetes } from './kit/programs.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Why no Kubernetes API can run here; null when one can be started. */
    noKubernetes: string | null;
  }
}

export default function setup(project: TestProject): void {
  const folder = process.env.KUBEBUILDER_ASSETS;
  project.provide('noKubernetes', folder === undefined ? missingKubernetes() : missingIn(folder));
}

function missingIn(folder: string): string | null {
  for (const name of ['etcd', 'kube-apiserver']) {
    try {
      accessSync(resolve(folder, name), constants.X_OK);
    } catch {
      return `${folder} of KUBEBUILDER_ASSETS has no executable ${name}`;
    }
  }
  return null;
}
