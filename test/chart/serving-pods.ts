/** Finds the pods of the chart that serve requests, and other rendered objects, by their names. */
import type { KubernetesObject } from './helm.ts';
import { podsOf } from './restricted.ts';

export interface ServingPod {
  readonly terminationGracePeriodSeconds: number;
  readonly topologySpreadConstraints: readonly object[];
  readonly containers: readonly {
    readonly name: string;
    readonly args: readonly string[];
    readonly env: readonly { readonly name: string; readonly value?: string }[];
    readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
    readonly readinessProbe: object;
  }[];
}

/** The pod of a component of the release `gw`. */
export function servingPod(
  objects: readonly KubernetesObject[],
  component: string,
): ServingPod | undefined {
  const pod = podsOf(objects).find(({ name }) => name === `gw-gatewright-${component}`);
  return pod?.spec as ServingPod | undefined;
}

/** The setting of the container that serves requests. */
export function settingOf(pod: ServingPod, name: string): string | undefined {
  return pod.containers[0]!.env.find((one) => one.name === name)?.value;
}

export function findObject<T>(objects: readonly KubernetesObject[], kind: string, name: string): T {
  const found = objects.find((one) => one.kind === kind && one.metadata.name === name);
  return found as T;
}

/** Labels that select the pods of a component. */
export const componentLabels = (name: string) => ({
  'app.kubernetes.io/name': 'gatewright',
  'app.kubernetes.io/instance': 'gw',
  'app.kubernetes.io/component': name,
});
