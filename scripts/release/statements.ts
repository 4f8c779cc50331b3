/** Writes the in-toto statements about an artefact: signature, SLSA provenance and SBOM. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildType, predicateTypes } from '../../src/releases/release-names.ts';
import { architectures, readDebianLock, sha256Of } from './debian/package-lock.ts';
import { nodePackage, nodeVersion } from './node-program.ts';
import type { Sbom } from './sbom.ts';
import type { ReleaseSource } from './source.ts';

export interface StatementSubject {
  readonly name: string;
  /** Hexadecimal. */
  readonly sha256: string;
}

type PredicateName = keyof typeof predicateTypes;

/** The statement as the bytes that are signed. */
export function statementOf(
  subjects: readonly StatementSubject[],
  predicate: PredicateName,
  content: object,
): Buffer {
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: subjects.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: predicateTypes[predicate],
    predicate: content,
  };
  return Buffer.from(JSON.stringify(statement));
}

/** The predicate of SLSA provenance, version 1. It has no times, so that it is the same in every build. */
export function provenanceOf(source: ReleaseSource): object {
  const { repository, commit, version, folder } = source;
  const lockFile = readFileSync(join(folder, 'package-lock.json'));
  return {
    buildDefinition: {
      buildType,
      externalParameters: { source: { uri: repository, commit }, version },
      internalParameters: { node: nodeVersion },
      resolvedDependencies: [
        { uri: repository, digest: { gitCommit: commit } },
        { uri: `${repository}#package-lock.json`, digest: { sha256: sha256Of(lockFile) } },
        ...nodeDependencies(),
        ...debianDependencies(),
      ],
    },
    runDetails: { builder: { id: builderId() }, metadata: invocation() },
  };
}

function nodeDependencies(): object[] {
  return architectures.map((architecture) => {
    const { name, integrity } = nodePackage(architecture);
    const sha512 = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex');
    return { uri: `pkg:npm/${name}@${nodeVersion}`, digest: { sha512 } };
  });
}

function debianDependencies(): object[] {
  const { packages } = readDebianLock();
  return architectures.flatMap((architecture) =>
    packages[architecture].map(({ name, version, sha256 }) => ({
      uri: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`,
      digest: { sha256 },
    })),
  );
}

/** The workflow in CI, which a keyless signature proves; elsewhere whoever holds the key. */
function builderId(): string {
  const { GITHUB_SERVER_URL, GITHUB_WORKFLOW_REF, CI_PROJECT_URL } = process.env;
  if (GITHUB_SERVER_URL && GITHUB_WORKFLOW_REF)
    return `${GITHUB_SERVER_URL}/${GITHUB_WORKFLOW_REF}`;
  return CI_PROJECT_URL
    ? `${CI_PROJECT_URL}/-/runners`
    : 'https://gatewright.dev/builders/key-holder';
}

function invocation(): object {
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY, GITHUB_RUN_ID, CI_JOB_URL } = process.env;
  if (GITHUB_SERVER_URL && GITHUB_REPOSITORY && GITHUB_RUN_ID) {
    const base = `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`;
    return { invocationId: `${base}/actions/runs/${GITHUB_RUN_ID}` };
  }
  return CI_JOB_URL ? { invocationId: CI_JOB_URL } : {};
}

export function sbomStatement(subjects: readonly StatementSubject[], bom: Sbom): Buffer {
  return statementOf(subjects, 'sbom', bom);
}
