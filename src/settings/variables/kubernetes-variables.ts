/** Declares the environment variables of the Kubernetes cluster that sync uses. */
import * as forms from './forms.ts';
import { optional } from './variable.ts';

export const kubernetesVariables = {
  GATEWRIGHT_KUBERNETES_NAMESPACES: optional(
    'Sync',
    forms.namespaces,
    'Namespaces in which manifests may read Secrets and ConfigMaps, and write Secrets.',
  ),
  GATEWRIGHT_KUBERNETES_CONFIG: optional(
    'Sync',
    { ...forms.path, example: '/run/secrets/kubeconfig' },
    'kubeconfig of the cluster. When unset: service account of the pod.',
  ),
  GATEWRIGHT_KUBERNETES_STATUS: optional(
    'Sync',
    forms.kubernetesName,
    'ConfigMap in which `sync` publishes the state of each workspace, with an Event for each change. When unset: none.',
  ),
  GATEWRIGHT_KUBERNETES_LEASE: optional(
    'Sync',
    { ...forms.kubernetesName, example: 'gateways/sync' },
    'Kubernetes Lease that `sync` must hold before it competes for leadership on the server. When unset: none.',
  ),
};
