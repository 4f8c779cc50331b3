/** Knows how `up` tells its server where its loop stands, so that `status` shows it like any daemon. */
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../clock.ts';
import { acquireLease } from '../../sync/apply/owner-lease.ts';
import { StatusTeller } from '../../sync/daemon/status-report.ts';
import { SyncState } from '../../sync/daemon/sync-state.ts';
import type { WatchEvent } from '../../sync/loop/loop-event.ts';
import type { WatchOptions } from '../../sync/loop/watch.ts';
import type { AdminClient } from '../../sync/server/client.ts';

interface Told extends Pick<WatchOptions, 'onLook' | 'pause'> {
  /** To be called with every event of the loop. */
  readonly note: (event: WatchEvent) => void;
}

/**
 * Between its cycles `up` holds no lease: it takes one for each word, and says nothing while another
 * run has it.
 */
export function tellStanding(
  client: AdminClient,
  { source, holder }: { readonly source: string; readonly holder: string },
): Told {
  const state = new SyncState(systemClock);
  const onMissing = (): void => undefined;
  const teller = new StatusTeller({ client, source, clock: systemClock, onMissing });
  const terms = { holder, takeOver: false, takeOverCommand: '', waitMs: 0 };
  return {
    onLook: (look) => state.onLook(look),
    note: (event) => {
      state.onEvent(event);
    },
    pause: async (ms, signal) => {
      const hold = (until: AbortSignal) => acquireLease(client, { ...terms, signal: until });
      if (!signal.aborted) await teller.tell(state.standing, hold, ms);
      await delay(ms, undefined, { signal });
      return undefined;
    },
  };
}
