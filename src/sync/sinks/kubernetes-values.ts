/** Reads a value from a Secret or a ConfigMap. */
import { Failure } from '../../failure.ts';
import { KubeRefusal, KubeUnreachable } from '../../kube/kube-errors.ts';
import { getObject } from '../../kube/kube-objects.ts';
import { Secret } from '../../secret.ts';
import { originText, type ValueOrigin } from '../resources/secret-target.ts';
import { type KubernetesGrant, namespaceRefusal } from './kubernetes-store.ts';

type KubernetesOrigin = Extract<ValueOrigin, { readonly namespace: string }>;

/** Returns undefined when object or key do not exist; else the value, or why it cannot be read. */
export async function readKubernetesValue(
  grant: KubernetesGrant,
  origin: KubernetesOrigin,
): Promise<
  Secret | undefined | { readonly code: string; readonly message: string; readonly fix: string }
> {
  const { from, namespace, name, key } = origin;
  const refusal = namespaceRefusal(grant, namespace);
  if (refusal !== null) return { code: 'secret-refused', ...refusal };
  const isSecret = from === 'kubernetesSecret';
  try {
    const kind = isSecret ? 'secrets' : 'configmaps';
    const found = await getObject(await grant.connect(), kind, namespace, name);
    const data = found?.data?.[key];
    if (data === undefined) return undefined;
    const text = isSecret ? Buffer.from(data, 'base64').toString('utf8') : data;
    return new Secret(text, originText(origin));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const code = error instanceof KubeUnreachable ? 'secret-unreachable' : 'secret-refused';
    return { code, message: error.message, fix: fixOf(error, isSecret) };
  }
}

function fixOf(error: Failure, isSecret: boolean): string {
  if (error instanceof KubeUnreachable)
    return 'resources that need it are not changed until Kubernetes responds';
  if (error instanceof KubeRefusal)
    return `permit the account of gatewright to get ${isSecret ? 'Secrets' : 'ConfigMaps'} there`;
  return 'run it in a pod with a service account, or set GATEWRIGHT_KUBERNETES_CONFIG to a valid kubeconfig';
}
