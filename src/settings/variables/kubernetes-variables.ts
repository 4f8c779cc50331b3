/** Knows the variables that say which cluster is used, and for what. */
import * as forms from './forms.ts';
import { optional } from './variable.ts';

export const kubernetesVariables = {
  GATEWRIGHT_KUBERNETES_NAMESPACES: optional(
    'Sync',
    forms.namespaces,
    'Namespaces whose Secrets and ConfigMaps manifests may read, and whose Secrets they may write.',
  ),
  GATEWRIGHT_KUBERNETES_CONFIG: optional(
    'Sync',
    { ...forms.path, example: '/run/secrets/kubeconfig' },
    'kubeconfig of the cluster that is used; the account of the pod when unset.',
  ),
  GATEWRIGHT_KUBERNETES_STATUS: optional(
    'Sync',
    forms.kubernetesName,
    'ConfigMap in which `sync` shows the state of each workspace, with an Event for each change; none when unset.',
  ),
  GATEWRIGHT_KUBERNETES_LEASE: optional(
    'Sync',
    { ...forms.kubernetesName, example: 'gateways/sync' },
    'Lease of Kubernetes that `sync` has to hold before it asks the server whether it leads; none when unset.',
  ),
};
