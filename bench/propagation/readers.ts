/** Runs several gateways in one process, each with its own connections and polls, and prints their addresses. */
import { createApp } from '../../src/app.ts';
import { createLog } from '../../src/log.ts';
import { readSettings } from '../../src/settings.ts';

const count = Number(process.argv[2]);
const settings = readSettings(process.env as Record<string, string>);
const log = createLog({ level: 'error' });
const addresses: object[] = [];
for (let at = 0; at < count; at += 1) {
  const app = await createApp(settings, { components: ['gateway'], log });
  const { inferenceUrl, metricsUrl } = await app.listen();
  addresses.push({ inferenceUrl, metricsUrl });
}
process.stdout.write(`${JSON.stringify(addresses)}\n`);
