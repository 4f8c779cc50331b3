/** Measures the console in Chromium on a slowed processor, with 10,000 keys and 5,000,000 rows of the log. */
import { createConnection } from 'mysql2/promise';
import { missingChromium } from '../test/support/console/chromium.ts';
import { startTestDatabaseServer } from '../test/support/database/database-server.ts';
import { consoleMemoryRows } from './console/console-memory.ts';
import { fillLog } from './console/log-fixture.ts';
import { pageRows } from './console/page-times.ts';
import { tailRows } from './console/tail.ts';
import type { Member, Row } from './harness.ts';
import { databaseName, environment, makeTenant, setUp, startProduct } from './product.ts';

const keys = 10_000;
const rows = 5_000_000;
const days = 7;
/** The buffer of a small production server; the data is in memory in any case. */
const databaseFlags = ['--innodb-buffer-pool-size=2G', '--innodb-log-file-size=512M'];

export const member: Member = {
  name: 'console: pages of 5,000,000 rows in Chromium, four times slowed',
  run: async (scale, { stages }): Promise<Row[]> => {
    const missing = missingChromium();
    if (missing !== null) {
      process.stdout.write(`  skipped: ${missing}\n`);
      return [];
    }
    const isOn = (stage: string): boolean => stages?.includes(stage) ?? true;
    const database = await startTestDatabaseServer(databaseFlags);
    try {
      const env = { ...environment(database.server), GATEWRIGHT_CONSOLE_ENABLED: 'ON' };
      const full = await setUp(database.server, env);
      const memory = isOn('memory') ? await consoleMemoryRows(env) : [];
      if (!isOn('pages') && !isOn('tail')) return memory;
      const empty = await makeTenant(env);
      const connection = await createConnection({ ...database.server, database: databaseName });
      const size = { keys, rows: Math.round(rows * scale), days, now: Date.now() };
      await fillLog(connection, full.tsgId, size);
      const product = await startProduct(env);
      try {
        const pages = isOn('pages') ? await pageRows(product, { full, empty }) : [];
        const tail = isOn('tail') ? await tailRows(product, full, connection) : [];
        return [...memory, ...pages, ...tail];
      } finally {
        product.process.kill('SIGKILL');
        await connection.end();
      }
    } finally {
      await database.stop();
    }
  },
};
