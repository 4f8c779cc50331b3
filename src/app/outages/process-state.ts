/** Holds how far a process has started: whether its database is verified, and whether it serves from a snapshot. */
import type { Keyring } from '../../auth/keyring.ts';
import type { Log } from '../../log.ts';
import type { RunningSnapshot } from '../../snapshot/open-snapshot.ts';
import { DatabaseUnavailable } from '../../store/connection/unavailable.ts';
import type { SnapshotView } from '../../store/reads/snapshot-view.ts';

export class ProcessState {
  /** Whether the database is verified. */
  isConnected = false;
  /** Whether the control plane has sent the configuration, in a process without a database. */
  isLinked = false;
  isListening = false;
  isDraining = false;
  #hasKeys = false;
  #loading: Promise<void> | null = null;

  /** @throws DatabaseUnavailable until schema and master key of the database are verified */
  readonly requireConnection = (): void => {
    if (!this.isConnected) throw new DatabaseUnavailable('The database is not connected yet');
  };

  /** @throws DatabaseUnavailable until the keys are read, from the database or from a snapshot */
  readonly requireKeys = (): void => {
    if (!this.#hasKeys) this.requireConnection();
  };

  /** Loads the saved snapshot once. */
  loadSnapshot(saved: Pick<RunningSnapshot, 'load'> | null): Promise<void> {
    this.#loading ??= saved?.load() ?? Promise.resolve();
    return this.#loading;
  }

  /**
   * Reads the keys of the deployment from the saved snapshot, so that gateways serve without the database. Returns
   * false when there is none.
   *
   * @throws Failure when the master key is another one
   */
  async openFromSnapshot(
    saved: Pick<RunningSnapshot, 'load' | 'loadFromBucket' | 'source'> | null,
    keyring: Pick<Keyring, 'openFrom'>,
    log: Log,
  ): Promise<boolean> {
    if (saved === null) return false;
    await this.loadSnapshot(saved);
    await saved.loadFromBucket();
    const view = saved.source.view();
    if (view === null) return false;
    keyring.openFrom(view.deploymentKey);
    this.#hasKeys = true;
    const { sequence } = view;
    const readAt = new Date(view.builtAtMs).toISOString();
    log.warn({ sequence, readAt }, 'the gateways serve from the saved snapshot');
    return true;
  }

  /** Reads the keys of the deployment from the snapshot of the control plane. @throws Failure when the master key is another one */
  openFromControlPlane(
    { deploymentKey }: Pick<SnapshotView, 'deploymentKey'>,
    keyring: Pick<Keyring, 'openFrom'>,
  ): void {
    keyring.openFrom(deploymentKey);
    this.#hasKeys = true;
    this.isLinked = true;
  }
}
