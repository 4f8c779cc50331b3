/** Reads sealed snapshots from the control plane, for a gateway without a database. */
import { z } from 'zod';
import type { ObjectAddress } from '../snapshot/reading/read-update.ts';
import type { OriginState, SnapshotOrigin } from '../snapshot/reading/snapshot-origin.ts';
import { DatabaseUnavailable } from '../store/connection/unavailable.ts';
import type { ControlLink } from './control-link.ts';
import { linkPaths } from './link-paths.ts';
import {
  ObjectsRequest,
  objectsMax,
  StateAnswer,
  StateRequest,
  splitObjects,
} from './snapshot-messages.ts';

export class LinkedOrigin implements SnapshotOrigin {
  readonly isAuthoritative = true;
  readonly isWaiting = (): boolean => true;
  readonly #link: Pick<ControlLink, 'read'>;

  constructor(link: Pick<ControlLink, 'read'>) {
    this.#link = link;
  }

  async readState(known: Buffer | null): Promise<OriginState> {
    const message = z.encode(StateRequest, { known });
    const answer = await this.#link.read(linkPaths.snapshotState, message);
    return StateAnswer.parse(JSON.parse(answer.toString()));
  }

  async readObjects(addresses: readonly ObjectAddress[]): Promise<ReadonlyMap<string, Buffer>> {
    const found = new Map<string, Buffer>();
    for (let at = 0; at < addresses.length; ) {
      const some = addresses
        .slice(at, at + objectsMax)
        .map(({ organisationId, etag }) => ({ organisationId, etag }));
      const message = z.encode(ObjectsRequest, { addresses: some });
      // The answer ends early when the objects are large.
      const objects = splitObjects(await this.#link.read(linkPaths.snapshotObjects, message));
      if (objects.length === 0) throw new DatabaseUnavailable('The control plane sent no objects');
      for (const [index, object] of objects.entries()) {
        const address = some[index];
        if (object !== null && address !== undefined) found.set(address.etag, object);
      }
      at += objects.length;
    }
    return found;
  }
}
