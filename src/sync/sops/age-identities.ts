/** Knows how the key of an encrypted file is opened with the identities of age that are at hand. */
import type { Secret } from '../../secret.ts';
import type { Metadata, SopsFault } from './metadata.ts';

const dataKeyBytes = 32;
const recipientsShown = 5;

/** Private keys of age, each with the public one that files name. */
export class AgeIdentities {
  readonly #identities: Secret<readonly string[]>;
  #byRecipient: Promise<ReadonlyMap<string, string>> | undefined;

  /** @param identities `AGE-SECRET-KEY-1…`, post-quantum ones too */
  constructor(identities: Secret<readonly string[]>) {
    this.#identities = identities;
  }

  /** The data key of a file, from the first envelope that is meant for one of them. */
  async openDataKey({ recipients }: Metadata): Promise<Buffer | SopsFault> {
    const age = await import('age-encryption');
    let own: ReadonlyMap<string, string>;
    try {
      this.#byRecipient ??= this.#listRecipients(age);
      own = await this.#byRecipient;
    } catch {
      const message = `an age identity of ${this.#identities.origin} is mistyped: its checksum is wrong`;
      return { code: 'age-identity', message, fix: 'copy it again' };
    }
    const mine = recipients.find(({ recipient }) => own.has(recipient));
    if (mine === undefined) {
      const message = `it is encrypted for ${listOf(recipients.map(({ recipient }) => recipient))}; the identities at hand are those of ${listOf([...own.keys()])}`;
      const fix =
        'give an identity of one of them in GATEWRIGHT_AGE_KEY_FILE, or add yours with sops updatekeys';
      return { code: 'age-identity', message, fix };
    }
    try {
      const decrypter = new age.Decrypter();
      decrypter.addIdentity(own.get(mine.recipient)!);
      const key = Buffer.from(await decrypter.decrypt(age.armor.decode(mine.envelope)));
      if (key.length === dataKeyBytes) return key;
    } catch {
      // Told below: what the library says of it may quote what it read.
    }
    const message = `the key that it holds for ${shortened(mine.recipient)} cannot be opened`;
    return { code: 'sops-damaged', message, fix: 'encrypt the file again, or take it from Git' };
  }

  async #listRecipients(
    age: typeof import('age-encryption'),
  ): Promise<ReadonlyMap<string, string>> {
    const identities = this.#identities.reveal();
    const recipients = identities.map(
      async (identity) => [await age.identityToRecipient(identity), identity] as const,
    );
    return new Map(await Promise.all(recipients));
  }
}

/** For whom a file is encrypted, in words. */
export function listOf(recipients: readonly string[]): string {
  const shown = recipients.slice(0, recipientsShown).map(shortened);
  const more = recipients.length - shown.length;
  return shown.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** Post-quantum recipients are as long as a page. */
function shortened(recipient: string): string {
  return recipient.length > 100 ? `${recipient.slice(0, 40)}…` : recipient;
}
