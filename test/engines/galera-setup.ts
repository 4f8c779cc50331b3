/** Provides the three Galera nodes; the first is the database server of all helpers. */
import type { TestProject } from 'vitest/node';
import { readMigratedSchema } from '../support/database/migrated-schema.ts';
import { type GaleraNode, startGalera } from './galera-cluster.ts';

declare module 'vitest' {
  interface ProvidedContext {
    galeraNodes: readonly GaleraNode[];
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const cluster = await startGalera();
  const { server } = cluster.nodes[0]!;
  project.provide('galeraNodes', cluster.nodes);
  project.provide('databaseServer', server);
  project.provide('migratedSchema', await readMigratedSchema(server));
  return async () => cluster[Symbol.asyncDispose]();
}
