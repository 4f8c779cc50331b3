/** Knows how a single run tells the host of its source what became of the commit, before and after. */
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
  /** The version that the run is about to read. */
  readonly newest: () => Promise<SourceVersion>;
  readonly io: Pick<CommandIo, 'stderr'>;
}

/** How long the end of a run waits for a Git host that is slow or away. */
const deliveryMsMax = 15_000;

/** What the host says changes nothing of how the run ends; others hear of changes from a daemon. */
export async function tellingCommit(
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
      wrong: null,
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
