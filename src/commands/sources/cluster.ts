/** Opens the client of the Kubernetes cluster that the settings name. */
import { resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { systemClock } from '../../clock.ts';
import type { KubeClient, KubeClientOptions } from '../../kube/kube-client.ts';
import type { Settings } from '../../settings.ts';

/**
 * Loads the Kubernetes library, but connects only when the client is used.
 *
 * @throws Failure (invalid input) that names the setting or the field of the kubeconfig
 */
export async function openCluster(
  cwd: string,
  { configFile }: Pick<Settings['sync']['kubernetes'], 'configFile'>,
  limits?: KubeClientOptions['limits'],
): Promise<KubeClient> {
  const { KubeClient: Client } = await import('../../kube/kube-client.ts');
  const config = configFile === null ? null : resolve(cwd, configFile);
  return new Client({ config, clock: systemClock, pause: setTimeout, limits });
}
