/** Knows what the tests with a Kubernetes API are given: its programs, by the usual variable or as those with nodes have them. */
import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';
import type { TestProject } from 'vitest/node';
import { missingKubernetes } from './kit/programs.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Why there is no Kubernetes API here; null where one can be started. */
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
      return `no ${name} that can be run is in ${folder}, which KUBEBUILDER_ASSETS names`;
    }
  }
  return null;
}
