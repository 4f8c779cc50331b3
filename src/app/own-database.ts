/** Opens the database of a process of home. */
import type { Log } from '../log.ts';
import type { Settings } from '../settings.ts';
import { type Database, openDatabase } from '../store/connection/db.ts';
import { missingDatabase } from './missing-settings.ts';

/** @throws Failure when none is set */
export function openOwnDatabase(settings: Settings, log: Log): Database {
  if (settings.database === null) throw missingDatabase();
  const reader = settings.writerHadr ? settings.databaseReader : null;
  return openDatabase(settings.database, { log, reader });
}
