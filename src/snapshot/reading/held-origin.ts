/** Passes the snapshot that a process holds on to others, sealed as it is. */
import { etagOf } from '../format/sealed-object.ts';
import type { ObjectAddress } from './read-update.ts';
import type { SnapshotOrigin } from './snapshot-origin.ts';
import type { SnapshotReader } from './snapshot-reader.ts';

type HeldSource = Pick<SnapshotReader, 'view' | 'isCurrent' | 'confirmedAtMs'>;

export function heldOrigin(reader: HeldSource): SnapshotOrigin {
  return {
    isAuthoritative: true,
    readState: async (known) => {
      const held = reader.view();
      if (held === null) {
        return { exists: false, sealedHead: null, hasPending: true, confirmedAtMs: null };
      }
      const { sealedHead } = held;
      const isKnown = known?.equals(etagOf(sealedHead)) === true;
      return {
        exists: true,
        sealedHead: isKnown ? null : sealedHead,
        hasPending: !reader.isCurrent(),
        confirmedAtMs: reader.confirmedAtMs(),
      };
    },
    readObjects: async (addresses) => {
      const found = new Map<string, Buffer>();
      for (const address of addresses) {
        const object = objectAt(reader, address);
        if (object !== undefined) found.set(address.etag, object);
      }
      return found;
    },
  };
}

function objectAt(reader: HeldSource, { organisationId, etag }: ObjectAddress): Buffer | undefined {
  const held = reader.view();
  const document = held?.document(etag);
  if (document !== undefined) return document;
  const contents = held?.contents(organisationId);
  const at = contents?.manifest.parts.findIndex((part) => part.etag === etag) ?? -1;
  return at === -1 ? undefined : contents?.sealed[at];
}
