/** Starts the database server that a project's name ends in, in a container. */
import { Network } from 'testcontainers';
import type { TestProject } from 'vitest/node';
import { readMigratedSchema } from '../support/database/migrated-schema.ts';
import { type Make, makes, startDatabase } from './database-container.ts';
import { missingImage, productImage } from './images.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** PEM of the certificate authority of the database server in a container. */
    databaseAuthority: string;
    /** Settings with which the product reaches that server from another container, and that container. */
    containers: { readonly make: Make; readonly network: string; readonly databaseId: string };
    /** The product's image, or the reason why there is none. */
    product: { readonly image: string } | { readonly missing: string };
  }
}

/** Set-up of a project such as `containers-mysql`. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const make = project.name.split('-').at(-1) as Make;
  if (!makes.includes(make)) throw new Error(`no image is known for project ${project.name}`);
  const network = await new Network().start();
  const database = await startDatabase(make, network);
  const missing = await missingImage(productImage);
  project.provide('product', missing === null ? { image: await productImage() } : { missing });
  const databaseId = database.container.getId();
  project.provide('containers', { make, network: network.getName(), databaseId });
  project.provide('databaseServer', database.server);
  project.provide('databaseAuthority', database.authority);
  project.provide('migratedSchema', await readMigratedSchema(database.server));
  return async () => {
    await database[Symbol.asyncDispose]();
    await network.stop();
  };
}
