/** Replaces a gateway by the next release and back, and kills a migration in the middle. */

import { createDatabaseOn } from '../../support/database/empty-database.ts';
import type { Place } from '../scene/place.ts';
import { requireCommand, runCommand } from '../scene/run-command.ts';
import type { Scene } from '../scene/scene.ts';
import type { FaultKind, FaultTarget } from './fault.ts';
import { unansweredAtTarget } from './permits.ts';

interface ReplacedPlace extends FaultTarget {
  readonly place: Place;
}

/** Starts another release in a place, in order. */
async function replace(place: Place, program: string): Promise<void> {
  place.program = program;
  await place.stop();
  await place.start();
}

const upgrade: FaultKind<ReplacedPlace> = {
  name: 'upgrade to N+1 and back',
  durationMs: [2_000, 8_000],
  permits: [unansweredAtTarget],
  targetsOf: ({ gateways }) =>
    gateways.map((place) => ({ name: place.name, claims: [place.name, 'schema'], place })),
  whyMissing: ({ database: { isExtensible } }) =>
    isExtensible ? null : 'Vitess knows columns from the vschema, which stays',
  inject: async ({ nextRelease, program, variables }, { place }) => {
    // Under load, as the guide says; nothing is left to do from the second time on.
    await requireCommand([nextRelease.program, 'migrate'], variables);
    await replace(place, nextRelease.program);
    return () => replace(place, program);
  },
};

const migrationMs = 400;

/** On a database of its own, because that of the traffic is migrated. */
const killedMigration: FaultKind = {
  name: 'migration killed',
  durationMs: [100, 1_000],
  permits: [],
  targetsOf: () => [{ name: 'new database', claims: ['database', 'migration'] }],
  inject: async (scene: Scene) => {
    const { server } = scene.database;
    const made = await createDatabaseOn(server);
    const variables = {
      ...scene.variables,
      DB_USER: server.user,
      DB_PASS: server.password,
      DB_NAME: made.settings.name,
    };
    const words = [scene.program, 'migrate'];
    await runCommand(words, variables, migrationMs);
    return async () => {
      // The next one takes over after 30 s and continues (docs/guides/operations.md, Upgrade and rollback).
      await requireCommand(words, variables);
      await requireCommand([...words, '--check'], variables);
      await made[Symbol.asyncDispose]();
    };
  },
};

export const releaseFaults = [upgrade, killedMigration];
