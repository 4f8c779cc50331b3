/** Reports the start and the result of a single run as commit statuses. */
import { systemClock } from '../../clock.ts';
import { Failure } from '../../failure.ts';
import type { CycleResult } from '../../sync/cycle/cycle-options.ts';
import type { SourceVersion } from '../../sync/source/source-files.ts';
import { SyncState } from '../../sync/status/sync-state.ts';
import type { CommandIo } from '../shared/command.ts';
import { type Announcements, openAnnouncer, undeliveredText } from './announcements.ts';

export interface RunToTell {
  readonly announcements: Announcements;
  readonly owner: string;
  /** Returns the version that the run is about to read. */
  readonly newest: () => Promise<SourceVersion>;
  readonly io: Pick<CommandIo, 'stderr'>;
}

/** Maximum time for delivering statuses at the end of a run. */
const deliveryMsMax = 15_000;

/** Failed deliveries do not affect the result of the run. Notifications are sent by daemons only. */
export async function withCommitStatuses(
  { announcements, owner, newest, io }: RunToTell,
  run: () => Promise<CycleResult>,
): Promise<CycleResult> {
  const outside = openAnnouncer(
    { ...announcements, notification: null },
    {
      owner,
      onChange: () => undefined,
      onOutcome: (channel, host, reason) => {
        if (reason !== null) io.stderr.write(`${undeliveredText(channel, host, reason)}\n`);
      },
    },
  );
  if (outside === null) return await run();
  const state = new SyncState(systemClock);
  try {
    state.onLook({ kind: 'seen', version: await newest(), isRetryPending: false });
    outside.announcer.sendCommitStatus(state.status);
    const result = await run();
    state.onEvent({
      kind: 'cycle',
      result,
      durationMs: 0,
      retryAt: null,
      isNews: true,
      sourceFailure: null,
      isVersionHeld: false,
    });
    return result;
  } catch (error) {
    if (error instanceof Failure) state.onLook({ kind: 'failed', failure: error });
    throw error;
  } finally {
    outside.announcer.sendCommitStatus(state.status);
    await outside.close(deliveryMsMax);
  }
}
