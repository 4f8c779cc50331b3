/** Defines the `rotate-master-key` command, which re-encrypts all data keys while servers run, and seals older documents. */
import { resolve } from 'node:path';
import { missingMasterKey } from '../../app/missing-settings.ts';
import {
  findMissingMasterKey,
  type RotationProgress,
  readProgress,
  rotateMasterKey,
} from '../../auth/data-keys.ts';
import { createKeyring } from '../../auth/keyring.ts';
import { createMasterKeys, type MasterKeys } from '../../auth/master-keys.ts';
import { sealPlainDocuments } from '../../auth/plain-documents.ts';
import type { Ending } from '../../failure.ts';
import { createLog } from '../../log.ts';
import type { MasterKeySettings } from '../../settings/groups/master-keys.ts';
import { readSettings } from '../../settings.ts';
import { type Database, type Db, openDatabase } from '../../store/connection/db.ts';
import { requireMigrated, resolveDatabase } from '../database/database.ts';
import { readHomeKeys, withNextKey } from '../database/home-keys.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import { homeOption, outputForm, switchOption } from '../shared/option.ts';

interface Options {
  status: boolean;
  output: 'text' | 'json';
  home: string | undefined;
}

export const rotateMasterKeyCommand: Command<Options> = {
  examples: [
    [
      'gatewright rotate-master-key',
      'From GATEWRIGHT_MASTER_KEY_PREVIOUS to GATEWRIGHT_MASTER_KEY; with `up` to a new key',
    ],
    [
      'gatewright rotate-master-key --status',
      'Exit 0 when every key is under the master key, 2 when some are not',
    ],
  ],
  options: {
    status: switchOption(
      'Only count the keys that are not under the master key yet (exit 2 when any is)',
    ),
    output: outputForm(['text', 'json']),
    home: homeOption,
  },
  run: async (options, io) => {
    const settings = readSettings(undefined, { cwd: io.cwd });
    const home = resolve(io.cwd, options.home ?? settings.home);
    const databaseSettings = await resolveDatabase(settings, home);
    await requireMigrated(databaseSettings);
    const log = createLog({ level: settings.logLevel ?? 'warn', destination: io.stderr });
    await using database = openDatabase(databaseSettings, { log });
    const { db } = database;
    if (options.status) {
      const keys = settings.masterKeys ?? readHomeKeys(home);
      if (keys === null) throw missingMasterKey();
      return tellStatus(await readStatus(db, createMasterKeys(keys)), options, io);
    }
    const rotate = (keys: MasterKeySettings) =>
      carryOut(database, createMasterKeys(keys), options, io);
    return settings.masterKeys === null
      ? await withNextKey(home, rotate)
      : await rotate(settings.masterKeys);
  },
};

interface Status extends RotationProgress {
  readonly masterKeyId: string;
}

/** @throws MissingMasterKey when a data key needs a master key that is not configured */
async function readStatus(db: Db, masterKeys: MasterKeys): Promise<Status> {
  const fault = await findMissingMasterKey(db, masterKeys);
  if (fault !== null) throw fault;
  return { masterKeyId: masterKeys.currentId, ...(await readProgress(db, masterKeys)) };
}

function tellStatus(status: Status, { output }: Options, { stdout }: CommandIo): Ending {
  const { masterKeyId, done, total } = status;
  if (output === 'json') stdout.writeJson(status);
  else stdout.write(`${done} of ${total} keys are under the master key ${masterKeyId}\n`);
  return done === total ? 'success' : 'changesPresent';
}

async function carryOut(
  database: Database,
  masterKeys: MasterKeys,
  { output }: Options,
  { stdout, stderr, signal }: CommandIo,
): Promise<Ending> {
  const masterKeyId = masterKeys.currentId;
  const onProgress = ({ done, total }: RotationProgress): void => {
    if (output === 'json') stderr.writeJsonLine({ event: 'progress', done, total });
    else stderr.write(`${done} of ${total} keys\n`);
  };
  const { db } = database;
  const { rewrapped, total } = await rotateMasterKey(db, masterKeys, { onProgress, signal });
  const sealed = await sealPlainDocuments(database, createKeyring(database, masterKeys), signal);
  if (output === 'text' && sealed > 0) {
    stdout.write(`sealed the secrets of ${sealed} configs, guardrails and versions of them\n`);
  }
  if (output === 'json') stdout.writeJson({ masterKeyId, rewrapped, total, sealed });
  else if (rewrapped > 0) {
    stdout.write(`all ${total} keys are under the master key ${masterKeyId} now\n`);
  } else {
    stdout.write(
      `nothing to do: all ${total} keys already use the master key ${masterKeyId}. To change it, set ` +
        'every server a new GATEWRIGHT_MASTER_KEY, and this one as GATEWRIGHT_MASTER_KEY_PREVIOUS\n',
    );
  }
  return 'success';
}
