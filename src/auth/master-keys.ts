/** Holds the master keys of this process; they wrap data keys and nothing else. */
import { Failure } from '../failure.ts';
import type { MasterKeySettings } from '../settings/groups/master-keys.ts';
import { keyIdOf, type SealingKey, sealingKey, sealText, unsealText } from './sealing.ts';

/** A data key is wrapped by a master key that this process does not have. */
export class MissingMasterKey extends Failure {
  override name = 'MissingMasterKey';

  constructor(id: string, held: readonly string[]) {
    super(
      'refusedByGuard',
      `The data keys of this database are encrypted with master key ${id}, but this process has ` +
        `${held.join(' and ')}. Without the right key no API key, client secret or stored secret works. Set ` +
        'GATEWRIGHT_MASTER_KEY to it, or GATEWRIGHT_MASTER_KEY_PREVIOUS while a rotation is not finished ' +
        '(gatewright rotate-master-key), or connect gatewright to another database.',
    );
  }
}

export interface MasterKeys {
  /** Id of the master key that wraps new data keys; it reveals nothing of the key. */
  readonly currentId: string;
  /**
   * Null when the master key is available, otherwise the error. Reads key files again first, because a
   * rotation may have added the key.
   */
  faultOf(id: string): MissingMasterKey | null;
  /** Wraps a data key as the text stored in the database. @throws MissingMasterKey */
  wrap(id: string, dataKey: Buffer, organisationId: string): string;
  /**
   * Reverses {@link wrap} for any master key. @throws MissingMasterKey; TypeError when the text was altered
   * or moved
   */
  unwrap(wrapped: string, organisationId: string): Buffer;
}

const bytesMin = 32;

export function createMasterKeys(settings: MasterKeySettings): MasterKeys {
  const keysById = new Map<string, SealingKey>();
  const learn = ({ current, previous }: MasterKeySettings): string => {
    const [first] = [current, ...previous].map((secret) => {
      const key = wrappingKey(secret.reveal());
      keysById.set(key.id, key);
      return key.id;
    });
    return first!;
  };
  const currentId = learn(settings);
  const learnAgain = (): void => {
    try {
      learn(settings.refresh());
    } catch (error) {
      // A rotation has written only part of the files; the keys read before stay valid.
      if (!(error instanceof Failure)) throw error;
    }
  };
  const faultOf = (id: string): MissingMasterKey | null => {
    if (!keysById.has(id)) learnAgain();
    return keysById.has(id) ? null : new MissingMasterKey(id, [...keysById.keys()]);
  };
  const keyOf = (id: string): SealingKey => {
    const fault = faultOf(id);
    if (fault !== null) throw fault;
    return keysById.get(id)!;
  };
  return {
    currentId,
    faultOf,
    wrap: (id, dataKey, organisationId) =>
      sealText(keyOf(id), dataKey.toString('base64url'), placeOf(organisationId)),
    unwrap: (wrapped, organisationId) =>
      Buffer.from(
        unsealText(keyOf(keyIdOf(wrapped)), wrapped, placeOf(organisationId)),
        'base64url',
      ),
  };
}

function wrappingKey(master: Buffer): SealingKey {
  if (master.length >= bytesMin) return sealingKey(master, 'kek');
  throw new RangeError(`the master key has ${master.length} bytes; it needs ${bytesMin}`);
}

function placeOf(organisationId: string): string {
  return `data_keys|${organisationId}|wrapped_key`;
}
