/** Knows how a file that sops has encrypted is opened: every value, and the proof that it is whole. */
import { isUtf8 } from 'node:buffer';
import { createHash, timingSafeEqual } from 'node:crypto';
import { Secret } from '../../secret.ts';
import { sopsText } from '../resources/secret-target.ts';
import { type AgeIdentities, listOf } from './age-identities.ts';
import { type EncryptedValue, openEncrypted, readEncrypted } from './encrypted-value.ts';
import { type Leaf, leavesOf } from './leaves.ts';
import { type Metadata, readMetadata, type SopsFault } from './metadata.ts';
import { SealedValue } from './sealed-value.ts';

/** A fault of one value has a place; one of the whole file has none. */
export interface PlacedFault extends SopsFault {
  readonly leaf?: Pick<Leaf, 'document' | 'path'> | undefined;
  /** Nothing is wrong with the file: there is only no identity to open it with. */
  readonly isUnopened?: boolean | undefined;
}

export interface SopsFile {
  /** The encrypted values by {@link placeOf}; comments that sops keeps as items of lists are null. */
  readonly sealed: ReadonlyMap<string, SealedValue | null>;
  /** Why no value of it may be used. */
  readonly fault?: PlacedFault | undefined;
}

/** @param path keys and indexes as they stand in the file */
export function placeOf(document: number, path: readonly string[]): string {
  return [document, ...path].join('\u0000');
}

export interface OpenTerms {
  /** Name of the file in the source. */
  readonly path: string;
  readonly text: string;
  /** What stands under `sops` in its first document. */
  readonly metadata: unknown;
  /** Undefined where none are at hand. */
  readonly identities: AgeIdentities | undefined;
  /** False for checks without identities: values then stay closed, and nothing is wrong with that. */
  readonly mustOpen: boolean;
}

/** Opens a file that can be read as YAML; what is wrong with it comes back. */
export async function openSopsFile(terms: OpenTerms): Promise<SopsFile> {
  const metadata = readMetadata(terms.metadata);
  if ('message' in metadata) return { sealed: new Map(), fault: metadata };
  const found = findEncrypted(leavesOf(terms.text), metadata);
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

/** A leaf, with what its text is where it is encrypted. */
interface Found {
  readonly leaf: Leaf;
  readonly value: EncryptedValue | null;
}

function findEncrypted(leaves: readonly Leaf[], { isEncrypted }: Metadata): Found[] {
  return leaves.map((leaf) => {
    const isSealed = leaf.isText && isEncrypted(leaf.keys);
    return { leaf, value: isSealed ? (readEncrypted(leaf.text ?? '') ?? null) : null };
  });
}

/** It has to be encrypted and is not: sops leaves nothing but empty texts and nulls as they are. */
function isBare({ keys, text }: Leaf, value: unknown, { isEncrypted }: Metadata): boolean {
  return value === null && text !== null && text !== '' && isEncrypted(keys);
}

function bareFault({ document, path }: Leaf): PlacedFault {
  return {
    code: 'sops-bare',
    message: `${path.join('.')} is not encrypted as sops would have it`,
    fix: 'edit the file with sops, which encrypts what is put in',
    leaf: { document, path },
  };
}

function unopened({ recipients }: Metadata): PlacedFault {
  const names = listOf(recipients.map(({ recipient }) => recipient));
  return {
    code: 'secret-missing',
    message: 'no age identity is at hand to open it',
    fix: `set GATEWRIGHT_AGE_KEY_FILE to a file with an identity of ${names}`,
    isUnopened: true,
  };
}

function sealed(
  { leaf, value }: Found,
  path: string,
  text: string | null,
): readonly [string, SealedValue | null] {
  const place = placeOf(leaf.document, leaf.path);
  if (value?.type === 'comment') return [place, null];
  const secret = new Secret(text ?? '', sopsText(path, leaf.path.join('.')));
  return [place, new SealedValue(secret, text !== null)];
}

function openValues(
  found: readonly Found[],
  metadata: Metadata,
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
    if (!isUtf8(opened)) return damagedAt(leaf, 'is no text in UTF-8');
    if (value.type !== 'comment') proof.update(opened);
    const text = value.type === 'bool' ? opened.toString().toLowerCase() : opened.toString();
    values.set(...sealed(one, path, text));
  }
  return isProven(proof.digest('hex'), metadata, dataKey) ? values : unproven;
}

function damagedAt({ document, path }: Leaf, what: string): PlacedFault {
  return {
    code: 'sops-damaged',
    message: `${path.join('.')} ${what} after it was encrypted`,
    fix: 'take the file from Git again, and edit it with sops only',
    leaf: { document, path },
  };
}

const unproven: PlacedFault = {
  code: 'sops-mac',
  message: 'its values are not those that were encrypted together: the MAC does not fit',
  fix: 'find out who changed the file; if the change is right, let sops write the MAC: sops edit --ignore-mac',
};

function isProven(digest: string, { mac, lastModified }: Metadata, dataKey: Buffer): boolean {
  const told = openEncrypted(mac, dataKey, lastModified);
  const own = Buffer.from(digest.toUpperCase());
  return told !== undefined && told.length === own.length && timingSafeEqual(told, own);
}
