/** Provides a Vitess with two shards to the api suite. */
import type { TestProject } from 'vitest/node';
import { startVitess } from './vitess-cluster.ts';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const cluster = await startVitess();
  project.provide('databaseServer', cluster.server);
  return async () => cluster[Symbol.asyncDispose]();
}
