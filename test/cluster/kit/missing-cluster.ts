/** Checks whether a cluster can run on this machine, and prepares its programs and images. */
import { missingSshd } from '../../support/git/ssh-server.ts';
import { whyNoCluster } from './cluster.ts';
import { missingImages, preparePause } from './images.ts';
import { missingKubernetes, missingNodePrograms } from './programs.ts';

/** Returns why no cluster can run here; null when everything is ready. */
export async function missingCluster(): Promise<string | null> {
  const missing =
    whyNoCluster() ??
    missingSshd() ??
    (await missingImages()) ??
    missingKubernetes() ??
    missingNodePrograms();
  if (missing === null) preparePause();
  return missing;
}
