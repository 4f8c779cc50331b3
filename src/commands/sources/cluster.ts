/** Opens the client of the Kubernetes cluster that the settings name. */
import { resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { systemClock } from '../../clock.ts';
import { Failure } from '../../failure.ts';
import type { KubeClient, KubeClientOptions } from '../../kube/kube-client.ts';
import type { Settings } from '../../settings.ts';

/**
 * Loads the Kubernetes library, but connects only when the client is used.
 *
 * @throws Failure (invalid input) that names the setting, the field of the kubeconfig, or the missing library
 */
export async function openCluster(
  cwd: string,
  { configFile }: Pick<Settings['sync']['kubernetes'], 'configFile'>,
  limits?: KubeClientOptions['limits'],
): Promise<KubeClient> {
  const Client = await loadClient();
  const config = configFile === null ? null : resolve(cwd, configFile);
  return new Client({ config, clock: systemClock, pause: setTimeout, limits });
}

/** A clone that `npm start` has set up has no optional packages; the built program contains them. */
async function loadClient(): Promise<typeof KubeClient> {
  try {
    return (await import('../../kube/kube-client.ts')).KubeClient;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new Failure(
      'invalidInput',
      'Kubernetes needs the package @kubernetes/client-node, which npm start does not install: run npm install --omit=dev',
      { cause: error },
    );
  }
}
