/** Knows the master keys that this process has: they wrap data keys, and nothing else. */
import { Failure } from '../failure.ts';
import type { MasterKeySettings } from '../settings/master-keys.ts';
import { keyIdOf, type SealingKey, seal, sealingKey, unseal } from './sealing.ts';

/** A data key stands under a master key that this process does not have. */
export class MissingMasterKey extends Failure {
  override name = 'MissingMasterKey';

  constructor(id: string, held: readonly string[]) {
    super(
      'refusedByGuard',
      `The master key is not the one that keys of this database are under: they are under ${id}, and here ` +
        `is ${held.join(' and ')}. Without it no API key, client secret or stored secret can be used. Set ` +
        'GATEWRIGHT_MASTER_KEY to it, or GATEWRIGHT_MASTER_KEY_PREVIOUS while a rotation is not finished ' +
        '(gatewright rotate-master-key), or point gatewright at another database.',
    );
  }
}

export interface MasterKeys {
  /** Names, without telling anything of it, the master key that data keys shall be under. */
  readonly currentId: string;
  /**
   * Null where the master key is here, else what to say. Before that files are read again, because a
   * rotation may have put it there.
   */
  faultOf(id: string): MissingMasterKey | null;
  /** The text that keeps a data key in the database. @throws MissingMasterKey */
  wrap(id: string, dataKey: Buffer, organisationId: string): string;
  /** Reverses {@link wrap}, whichever master key it was. @throws MissingMasterKey, and where it was altered or moved */
  unwrap(wrapped: string, organisationId: string): Buffer;
}

const bytesMin = 32;

export function createMasterKeys(settings: MasterKeySettings): MasterKeys {
  const known = new Map<string, SealingKey>();
  const learn = ({ current, previous }: MasterKeySettings): string => {
    const [first] = [current, ...previous].map((secret) => {
      const key = wrappingKey(secret.reveal());
      known.set(key.id, key);
      return key.id;
    });
    return first!;
  };
  const currentId = learn(settings);
  const learnAgain = (): void => {
    try {
      learn(settings.refresh());
    } catch (error) {
      // Half of a rotation is on the disk: what is known still holds.
      if (!(error instanceof Failure)) throw error;
    }
  };
  const faultOf = (id: string): MissingMasterKey | null => {
    if (!known.has(id)) learnAgain();
    return known.has(id) ? null : new MissingMasterKey(id, [...known.keys()]);
  };
  const keyOf = (id: string): SealingKey => {
    const fault = faultOf(id);
    if (fault !== null) throw fault;
    return known.get(id)!;
  };
  return {
    currentId,
    faultOf,
    wrap: (id, dataKey, organisationId) =>
      seal(keyOf(id), dataKey.toString('base64url'), placeOf(organisationId)),
    unwrap: (wrapped, organisationId) =>
      Buffer.from(unseal(keyOf(keyIdOf(wrapped)), wrapped, placeOf(organisationId)), 'base64url'),
  };
}

function wrappingKey(master: Buffer): SealingKey {
  if (master.length >= bytesMin) return sealingKey(master, 'kek');
  throw new RangeError(`the master key has ${master.length} bytes; it needs ${bytesMin}`);
}

function placeOf(organisationId: string): string {
  return `data_keys|${organisationId}|wrapped_key`;
}
