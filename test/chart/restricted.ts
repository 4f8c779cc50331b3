/** Checks pods against the restricted Pod Security profile of Kubernetes, as far as a chart can violate it. */
import type { KubernetesObject } from './helm.ts';

interface Container {
  readonly name: string;
  readonly image: string;
  readonly securityContext?: {
    readonly allowPrivilegeEscalation?: boolean;
    readonly privileged?: boolean;
    readonly readOnlyRootFilesystem?: boolean;
    readonly runAsUser?: number;
    readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] };
  };
  readonly resources?: { readonly requests?: object; readonly limits?: object };
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly args?: readonly string[];
}

interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Record<string, unknown>[];
  readonly securityContext?: {
    readonly runAsNonRoot?: boolean;
    readonly runAsUser?: number;
    readonly seccompProfile?: { readonly type: string };
  };
  readonly automountServiceAccountToken?: boolean;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
}

export interface NamedPod {
  readonly name: string;
  readonly spec: PodSpec;
}

/** The pods that the objects create. */
export function podsOf(objects: readonly KubernetesObject[]): NamedPod[] {
  return objects.flatMap(({ kind, metadata: { name }, spec }) => {
    const within = spec as { template?: { spec: PodSpec } } & PodSpec;
    if (kind === 'Pod') return [{ name, spec: within }];
    return within?.template === undefined ? [] : [{ name, spec: within.template.spec }];
  });
}

export function containersOf({ spec }: NamedPod): readonly Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

const volumeKinds = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
];

/** Violations, each with pod and container; empty if there are none. */
export function breaches(pod: NamedPod): string[] {
  const { name, spec } = pod;
  const found: string[] = [];
  const must = (holds: boolean, what: string): void => {
    if (!holds) found.push(`${name}: ${what}`);
  };
  must(spec.securityContext?.runAsNonRoot === true, 'runAsNonRoot');
  must(spec.securityContext?.runAsUser !== 0, 'runAsUser 0');
  must(spec.securityContext?.seccompProfile?.type === 'RuntimeDefault', 'seccompProfile');
  must(!spec.hostNetwork && !spec.hostPID && !spec.hostIPC, 'namespaces of the host');
  for (const volume of spec.volumes ?? []) {
    const kinds = Object.keys(volume).filter((key) => key !== 'name');
    must(
      kinds.every((kind) => volumeKinds.includes(kind)),
      `volume ${kinds}`,
    );
  }
  for (const { name: container, securityContext: security } of containersOf(pod)) {
    must(security?.allowPrivilegeEscalation === false, `${container} allowPrivilegeEscalation`);
    must(security?.privileged !== true, `${container} privileged`);
    must(security?.runAsUser !== 0, `${container} runAsUser 0`);
    must(security?.capabilities?.drop?.includes('ALL') === true, `${container} capabilities`);
    must((security?.capabilities?.add ?? []).length === 0, `${container} added capabilities`);
    // Not part of the profile but a rule of this project.
    must(security?.readOnlyRootFilesystem === true, `${container} readOnlyRootFilesystem`);
  }
  return found;
}
