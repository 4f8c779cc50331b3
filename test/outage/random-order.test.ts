/** Tests that nothing is lost, charged twice or answered falsely while parts are pulled out in random order. */
import { it } from 'vitest';
import { isLong } from '../support/run/test-effort.ts';
import { runOutage } from './outage-run.ts';

const runMs = isLong ? 600_000 : 60_000;

it('loses no row and no charge, exceeds no limit, and neither refuses a good key nor serves a revoked one, in any order of failures', async () => {
  await runOutage({ script: ({ faults }) => faults.run(AbortSignal.timeout(runMs)) });
});
