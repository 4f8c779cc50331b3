/** Defines where a gateway gets its snapshot from, and reads it from the database. */
import type { Db } from '../../store/connection/db.ts';
import * as snapshotHeads from '../../store/snapshot/snapshot-heads.ts';
import * as snapshotParts from '../../store/snapshot/snapshot-parts.ts';
import type { ObjectAddress } from './read-update.ts';

/** The state of the newest snapshot. */
export interface OriginState {
  /** The sealed head; null when the known one is the newest, or when there is none yet. */
  readonly sealedHead: Buffer | null;
  /** Whether there is a snapshot. */
  readonly exists: boolean;
  /** Whether changes were committed that the snapshot does not contain yet. */
  readonly hasPending: boolean;
  /** When the origin vouched that the snapshot is the newest one; null for the time of the head. */
  readonly confirmedAtMs: number | null;
}

/** Everything that it returns is sealed, so that it may pass through any channel. */
export interface SnapshotOrigin {
  /** An older snapshot, or one of another deployment, replaces the held one. */
  readonly isAuthoritative: boolean;
  /** Whether {@link readState} itself waits before it reads. */
  readonly isWaiting?: () => boolean;
  /** `known` is the etag of the held head. */
  readState(known: Buffer | null): Promise<OriginState>;
  /** The objects that exist, by etag in base64url. */
  readObjects(addresses: readonly ObjectAddress[]): Promise<ReadonlyMap<string, Buffer>>;
}

interface HeadSource {
  readonly isPolling: boolean;
  readHead(known: Buffer | null): Promise<snapshotHeads.HeadReading>;
}

/** Reads the head alone. */
function headsOf(db: Db): HeadSource {
  return { isPolling: false, readHead: (known) => snapshotHeads.readHead(db, known) };
}

/** The snapshot in the database. */
export function databaseOrigin(db: Db, heads: HeadSource = headsOf(db)): SnapshotOrigin {
  return {
    isAuthoritative: true,
    isWaiting: () => heads.isPolling,
    readState: async (known) => {
      const { etag, body, hasPending, now } = await heads.readHead(known);
      const sealedHead = body && Buffer.from(body);
      return { exists: etag !== null, sealedHead, hasPending, confirmedAtMs: now };
    },
    readObjects: async (addresses) => {
      const found = await snapshotParts.list(
        db,
        addresses.map(({ organisationId, etag }) => ({
          organisationId,
          etag: Buffer.from(etag, 'base64url'),
        })),
      );
      // Copied: the driver's buffers keep whole packets in memory.
      return new Map(
        found.map(({ etag, body }) => [etag.toString('base64url'), Buffer.from(body)]),
      );
    },
  };
}
