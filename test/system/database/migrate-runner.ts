/** Test program that runs migrations in its own process (argument 1: JSON) and reports each statement. */
import { createLog } from '../../../src/log.ts';
import { Secret } from '../../../src/secret.ts';
import { migrate } from '../../../src/store/migrations/migrate.ts';

const { settings, password, ...options } = JSON.parse(process.argv[2]!);
const report = await migrate(
  { ...settings, password: new Secret(password, 'test') },
  {
    ...options,
    log: createLog({ level: 'warn' }),
    onStep: (step) => process.stdout.write(`${JSON.stringify(step)}\n`),
  },
);
process.stdout.write(`${JSON.stringify(report)}\n`);
