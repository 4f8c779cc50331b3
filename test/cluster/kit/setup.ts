/** Provides the tests with nodes and pods with programs and with images of the current source. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { archiveImages } from './images.ts';
import { missingCluster } from './missing-cluster.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Why no cluster can run here; null when one can be started. */
    noCluster: string | null;
    /** Path of an archive with the images that pods need. */
    images: string;
  }
}

export default async function setup(project: TestProject): Promise<() => void> {
  const noCluster = await missingCluster();
  project.provide('noCluster', noCluster);
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-images-'));
  const images = join(folder, 'images.tar');
  project.provide('images', images);
  if (noCluster === null) await archiveImages(images);
  return () => rmSync(folder, { recursive: true, force: true });
}
