/** Knows how the settings become a client of a cluster. */
import { resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { systemClock } from '../../clock.ts';
import { readKubeAccess } from '../../kube/kube-access.ts';
import { KubeClient } from '../../kube/kube-client.ts';
import type { Settings } from '../../settings.ts';

/**
 * Connects to nothing before it is asked.
 *
 * @throws Failure (invalid input) that names the setting or the field of the kubeconfig
 */
export function openCluster(
  cwd: string,
  { configFile }: Pick<Settings['sync']['kubernetes'], 'configFile'>,
  patience?: ConstructorParameters<typeof KubeClient>[3],
): KubeClient {
  const access = readKubeAccess(configFile === null ? null : resolve(cwd, configFile));
  return new KubeClient(access, systemClock, setTimeout, patience);
}
