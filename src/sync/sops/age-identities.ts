/** Decrypts the data key of a sops file with the available age identities. */
import type { Secret } from '../../secret.ts';
import type { SopsFault, SopsMetadata } from './sops-metadata.ts';

const dataKeyBytes = 32;
const listedRecipientsMax = 5;

/** Private age keys with their public recipients. */
export class AgeIdentities {
  readonly #identities: Secret<readonly string[]>;
  #byRecipient: Promise<ReadonlyMap<string, string>> | undefined;

  /** @param identities `AGE-SECRET-KEY-1…`, including post-quantum ones */
  constructor(identities: Secret<readonly string[]>) {
    this.#identities = identities;
  }

  /** Returns the data key from the first envelope for one of the identities. */
  async openDataKey({ recipients }: SopsMetadata): Promise<Buffer | SopsFault> {
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
      const message = `it is encrypted for ${recipientList(recipients.map(({ recipient }) => recipient))}; the identities at hand are those of ${recipientList([...own.keys()])}`;
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
      // The library's error is not passed on, because it may quote what it read.
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

/** Lists the recipients of a file. */
export function recipientList(recipients: readonly string[]): string {
  const listed = recipients.slice(0, listedRecipientsMax).map(shortened);
  const more = recipients.length - listed.length;
  return listed.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** Post-quantum recipients are as long as a page. */
function shortened(recipient: string): string {
  return recipient.length > 100 ? `${recipient.slice(0, 40)}…` : recipient;
}
