/** Writes the files of a release with their signatures, provenance and SBOMs, and the checksums of all. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import {
  artefactSuffixes,
  checksumsFile,
  publicKeyFile,
} from '../../src/releases/release-names.ts';
import { sha256Of } from './debian/package-lock.ts';
import type { ReleaseSigner } from './release-signer.ts';
import { type Sbom, sbomText } from './sbom.ts';
import type { ReleaseSource } from './source.ts';
import { provenanceOf, sbomStatement, statementOf } from './statements.ts';

export interface ArtefactInput {
  readonly name: string;
  readonly bytes: Buffer;
  readonly bom: Sbom;
}

export class ReleaseFolderWriter {
  readonly folder: string;
  readonly #signer: ReleaseSigner;
  readonly #source: ReleaseSource;

  constructor(folder: string, signer: ReleaseSigner, source: ReleaseSource) {
    this.folder = folder;
    this.#signer = signer;
    this.#source = source;
    mkdirSync(folder, { recursive: true });
  }

  write(name: string, content: string | Buffer): void {
    writeFileSync(join(this.folder, name), content);
  }

  /** Writes one artefact with its signature, provenance and SBOM beside it. */
  async writeArtefact({ name, bytes, bom }: ArtefactInput): Promise<void> {
    const subjects = [{ name, sha256: sha256Of(bytes) }];
    const provenance = statementOf(subjects, 'provenance', provenanceOf(this.#source));
    const { signBytes, signStatement } = this.#signer;
    this.write(name, bytes);
    this.write(name + artefactSuffixes.sbom, sbomText(bom));
    this.write(name + artefactSuffixes.signature, await signBytes(bytes));
    this.write(name + artefactSuffixes.provenance, await signStatement(provenance));
    const statement = sbomStatement(subjects, bom);
    this.write(name + artefactSuffixes.sbomStatement, await signStatement(statement));
  }

  /** Writes the checksums of every file with their signature. Nothing may be written afterwards. */
  async close(): Promise<void> {
    const { publicKey, rawSignature, signBytes } = this.#signer;
    if (publicKey !== null) this.write(publicKeyFile, publicKey);
    const lines = filesBelow(this.folder).map(
      (path) => `${sha256Of(readFileSync(join(this.folder, path)))}  ${path}\n`,
    );
    const checksums = Buffer.from(lines.join(''));
    this.write(checksumsFile, checksums);
    this.write(checksumsFile + artefactSuffixes.signature, await signBytes(checksums));
    if (rawSignature !== null) this.write(`${checksumsFile}.sig`, rawSignature(checksums));
  }
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}
