/** Knows whether a cluster can be had on this machine, and makes ready what it is made of. */
import { missingSshd } from '../../support/git/ssh-server.ts';
import { whyNoCluster } from './cluster.ts';
import { missingImages, preparePause } from './images.ts';
import { missingKubernetes, missingNodePrograms } from './programs.ts';

/** Why no cluster can be had here; null where everything is ready for one. */
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
