/** Decrypts a sops file and verifies its MAC. Written here because sops itself is a Go program. */
import { isUtf8 } from 'node:buffer';
import { createHash, timingSafeEqual } from 'node:crypto';
import { Secret } from '../../secret.ts';
import { sopsText } from '../resources/secret-target.ts';
import { type AgeIdentities, recipientList } from './age-identities.ts';
import { type EncryptedValue, openEncrypted, readEncrypted } from './encrypted-value.ts';
import { SealedValue, sealedKey } from './sealed-value.ts';
import { type SopsLeaf, sopsLeaves } from './sops-leaves.ts';
import { readSopsMetadata, type SopsFault, type SopsMetadata } from './sops-metadata.ts';

/** A fault of one value has a leaf; one of the whole file has none. */
export interface PlacedFault extends SopsFault {
  readonly leaf?: Pick<SopsLeaf, 'document' | 'path'> | undefined;
  /** The file is valid; only no identity is available. */
  readonly isUnopened?: boolean | undefined;
}

export interface SopsFile {
  /**
   * The encrypted values by {@link sealedKey}; null for comments, which sops stores as list items.
   */
  readonly sealed: ReadonlyMap<string, SealedValue | null>;
  /** Why none of its values may be used. */
  readonly fault?: PlacedFault | undefined;
}

export interface OpenTerms {
  /** Name of the file in the source. */
  readonly path: string;
  readonly text: string;
  /** The value of `sops` in its first document. */
  readonly metadata: unknown;
  /** Undefined when none are available. */
  readonly identities: AgeIdentities | undefined;
  /** False for checks without identities: values stay closed, which is not a fault. */
  readonly mustOpen: boolean;
}

/** Decrypts a valid YAML file; returns faults instead of throwing. */
export async function openSopsFile(terms: OpenTerms): Promise<SopsFile> {
  const metadata = readSopsMetadata(terms.metadata);
  if ('message' in metadata) return { sealed: new Map(), fault: metadata };
  const found = findEncrypted(sopsLeaves(terms.text), metadata);
  const closed = found.flatMap((one) =>
    one.value === null ? [] : [sealed(one, terms.path, null)],
  );
  const structure = new Map(closed);
  const unencrypted = found.find(({ leaf, value }) => isBare(leaf, value, metadata));
  if (unencrypted !== undefined) return { sealed: structure, fault: bareFault(unencrypted.leaf) };
  if (!terms.mustOpen) return { sealed: structure };
  if (terms.identities === undefined) return { sealed: structure, fault: unopened(metadata) };
  const dataKey = await terms.identities.openDataKey(metadata);
  if ('message' in dataKey) return { sealed: structure, fault: dataKey };
  const values = openValues(found, metadata, dataKey, terms.path);
  return 'message' in values ? { sealed: structure, fault: values } : { sealed: values };
}

/** A leaf with its parsed encrypted text. */
interface FoundValue {
  readonly leaf: SopsLeaf;
  readonly value: EncryptedValue | null;
}

function findEncrypted(leaves: readonly SopsLeaf[], { isEncrypted }: SopsMetadata): FoundValue[] {
  return leaves.map((leaf) => {
    const isSealed = leaf.isText && isEncrypted(leaf.keys);
    return { leaf, value: isSealed ? (readEncrypted(leaf.text ?? '') ?? null) : null };
  });
}

/**
 * A value that should be encrypted and is not; sops leaves only empty texts and nulls unencrypted.
 */
function isBare({ keys, text }: SopsLeaf, value: unknown, { isEncrypted }: SopsMetadata): boolean {
  return value === null && text !== null && text !== '' && isEncrypted(keys);
}

function bareFault({ document, path }: SopsLeaf): PlacedFault {
  return {
    code: 'sops-bare',
    message: `${path.join('.')} is not encrypted, although the rule of the file requires it`,
    fix: 'edit the file with sops, which encrypts new values',
    leaf: { document, path },
  };
}

function unopened({ recipients }: SopsMetadata): PlacedFault {
  const names = recipientList(recipients.map(({ recipient }) => recipient));
  return {
    code: 'secret-missing',
    message: 'no age identity is available to decrypt it',
    fix: `set GATEWRIGHT_AGE_KEY_FILE to a file with an identity of ${names}`,
    isUnopened: true,
  };
}

function sealed(
  { leaf, value }: FoundValue,
  path: string,
  text: string | null,
): readonly [string, SealedValue | null] {
  const place = sealedKey(leaf.document, leaf.path);
  if (value?.type === 'comment') return [place, null];
  const secret = new Secret(text ?? '', sopsText(path, leaf.path.join('.')));
  return [place, new SealedValue(secret, text !== null)];
}

function openValues(
  found: readonly FoundValue[],
  metadata: SopsMetadata,
  dataKey: Buffer,
  path: string,
): ReadonlyMap<string, SealedValue | null> | PlacedFault {
  const proof = createHash('sha512');
  if (metadata.macOnlyEncrypted) proof.update(createHash('sha256').update('sops').digest());
  const values = new Map<string, SealedValue | null>();
  for (const one of found) {
    const { leaf, value } = one;
    if (value === null) {
      if (!metadata.macOnlyEncrypted) proof.update(leaf.text ?? '');
      continue;
    }
    const opened = openEncrypted(value, dataKey, `${leaf.keys.join(':')}:`);
    if (opened === undefined) return damagedAt(leaf, 'was changed, or moved from another place');
    if (!isUtf8(opened)) return damagedAt(leaf, 'is not UTF-8 text');
    if (value.type !== 'comment') proof.update(opened);
    const text = value.type === 'bool' ? opened.toString().toLowerCase() : opened.toString();
    values.set(...sealed(one, path, text));
  }
  return isProven(proof.digest('hex'), metadata, dataKey) ? values : unproven;
}

function damagedAt({ document, path }: SopsLeaf, what: string): PlacedFault {
  return {
    code: 'sops-damaged',
    message: `${path.join('.')} ${what} after it was encrypted`,
    fix: 'take the file from Git again, and edit it with sops only',
    leaf: { document, path },
  };
}

const unproven: PlacedFault = {
  code: 'sops-mac',
  message: 'its values were changed after encryption: the MAC does not match',
  fix: 'find out who changed the file; if the change is right, let sops write the MAC: sops edit --ignore-mac',
};

function isProven(digest: string, { mac, lastModified }: SopsMetadata, dataKey: Buffer): boolean {
  const digestInMac = openEncrypted(mac, dataKey, lastModified);
  const own = Buffer.from(digest.toUpperCase());
  return (
    digestInMac !== undefined &&
    digestInMac.length === own.length &&
    timingSafeEqual(digestInMac, own)
  );
}
