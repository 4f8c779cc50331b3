/** Defines the error for snapshots that are not used, with one reason each. */
import { Failure } from '../../failure.ts';

/**
 * - `torn`: bytes are missing, as after an interrupted write
 * - `altered`: bytes differ from those that were sealed, or belong to another place
 * - `foreign`: it belongs to another deployment
 * - `newer`: it has a format that this version does not know
 * - `stale`: it is older than the maximum age, or than the one that is in use
 * - `locked`: its keys are wrapped by a master key that this process does not have
 */
export type RefusalReason = 'torn' | 'altered' | 'foreign' | 'newer' | 'stale' | 'locked';

export class SnapshotRefused extends Failure {
  override name = 'SnapshotRefused';
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string, options: ErrorOptions = {}) {
    super('refusedByGuard', `The snapshot is refused: ${message}`, options);
    this.reason = reason;
  }
}
