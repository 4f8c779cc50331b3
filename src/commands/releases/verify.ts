/** Defines the `verify` command, which checks signatures, provenance, SBOMs and checksums of a release. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { type Ending, Failure } from '../../failure.ts';
import { type ImageReference, parseImageReference } from '../../releases/image-reference.ts';
import { openLayout } from '../../releases/oci-layout.ts';
import { RegistryClient } from '../../releases/registry-client.ts';
import { registrySource } from '../../releases/registry-source.ts';
import { checksumsFile } from '../../releases/release-names.ts';
import { type SignerTrust, trustOfIdentity, trustOfKey } from '../../releases/signer-trust.ts';
import { verifyFile } from '../../releases/verify-files.ts';
import { type Expectations, verifyManifests } from '../../releases/verify-manifests.ts';
import {
  type ArtefactVerdict,
  toVerdict,
  verifyReleaseFolder,
} from '../../releases/verify-release.ts';
import { inspectSettings } from '../../settings.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import { outputForm, refused, requiredWord, textOption } from '../shared/option.ts';

interface Options {
  readonly artefact: string;
  readonly key: string | undefined;
  readonly identity: string | undefined;
  readonly issuer: string | undefined;
  readonly 'trusted-root': string | undefined;
  readonly commit: string | undefined;
  readonly builder: string | undefined;
  readonly output: 'text' | 'json';
}

export const verify: Command<Options> = {
  examples: [
    [
      'gatewright verify release --key cosign.pub',
      'All of a release; exit 0 when it is genuine, else 3',
    ],
    ['gatewright verify gatewright-0.1.0.tgz --key cosign.pub', 'One file, with those beside it'],
    [
      'gatewright verify registry.example.com/team/gatewright:0.1.0 --key cosign.pub',
      'An image or chart in a registry',
    ],
  ],
  options: {
    artefact: requiredWord('A release folder, a file of it, an OCI layout, or HOST/REPOSITORY:TAG'),
    key: textOption('FILE', {
      describe: 'Public key of the publisher in PEM, obtained from elsewhere than the release',
      fallback: 'none; --identity is for keyless signatures',
    }),
    identity: textOption('NAME', {
      describe: 'Signer in the certificate of a keyless signature, exactly; needs --issuer',
      fallback: 'none',
    }),
    issuer: textOption('URL', { describe: 'OIDC issuer of the identity', fallback: 'none' }),
    'trusted-root': textOption('FILE', {
      describe: 'trusted_root.json of Sigstore; needed with --identity',
      fallback: 'none',
    }),
    commit: textOption('HASH', {
      describe: 'Commit that the artefacts must be built from',
      fallback: 'any, which is printed',
    }),
    builder: textOption('URI', {
      describe: 'Builder that the provenance must name',
      fallback: 'any, which is printed',
    }),
    output: outputForm(['text', 'json']),
  },
  conflicts: [
    ['key', 'identity'],
    ['key', 'issuer'],
  ],
  run: async (options, io) => {
    const { commit = null, builder = null } = options;
    const expectations = { trust: readTrust(options, io.cwd), demanded: { commit, builder } };
    const verdicts = await verifyAny(options.artefact, expectations, io);
    const isGenuine = verdicts.every(({ fault }) => fault === null);
    if (options.output === 'json') io.stdout.writeJson({ genuine: isGenuine, artefacts: verdicts });
    else io.stdout.write(verdicts.flatMap(linesOf).join(''));
    return isGenuine ? 'success' : ('partialFailure' satisfies Ending);
  },
};

async function verifyAny(
  artefact: string,
  expectations: Expectations,
  io: CommandIo,
): Promise<readonly ArtefactVerdict[]> {
  const path = resolve(io.cwd, artefact);
  const name = basename(path);
  if (!existsSync(path)) {
    const reference = parseImageReference(artefact.replace(/^oci:\/\//, ''));
    if (reference === null) {
      throw new Failure(
        'invalidInput',
        `${artefact} does not exist, and is no reference such as registry.example.com/team/gatewright:0.1.0`,
      );
    }
    return [await verifyReference(artefact, reference, expectations)];
  }
  if (!statSync(path).isDirectory()) {
    return [
      await toVerdict(name, async () => [await verifyFile(dirname(path), name, expectations)]),
    ];
  }
  if (existsSync(join(path, 'oci-layout'))) {
    return [await toVerdict(name, () => verifyManifests(name, openLayout(path), expectations))];
  }
  if (existsSync(join(path, checksumsFile))) return await verifyReleaseFolder(path, expectations);
  throw new Failure(
    'invalidInput',
    `${artefact} is neither a release folder (no ${checksumsFile}) nor an OCI layout (no oci-layout)`,
  );
}

async function verifyReference(
  name: string,
  reference: ImageReference,
  expectations: Expectations,
): Promise<ArtefactVerdict> {
  const { proxies } = inspectSettings().settings;
  const access = { credentials: null, actions: 'pull', proxies } as const;
  await using client = new RegistryClient(reference, access);
  const source = registrySource(client, reference);
  return await toVerdict(name, () => verifyManifests(name, source, expectations));
}

/** @throws Failure (invalid input) that names the option */
function readTrust(options: Options, cwd: string): SignerTrust {
  const { key, identity, issuer, 'trusted-root': root } = options;
  const read = (file: string): string => {
    try {
      return readFileSync(resolve(cwd, file), 'utf8');
    } catch (error) {
      throw refused(`${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
    }
  };
  const trustedRoot = root === undefined ? null : read(root);
  if (key === undefined && identity === undefined) {
    throw refused('verify needs the publisher: --key FILE, or --identity NAME --issuer URL');
  }
  if (identity !== undefined && (issuer === undefined || trustedRoot === null)) {
    throw refused('--identity needs --issuer URL and --trusted-root FILE');
  }
  const pem = key === undefined ? null : read(key);
  try {
    return pem === null
      ? trustOfIdentity({ name: identity!, issuer: issuer! }, trustedRoot!)
      : trustOfKey(pem, trustedRoot);
  } catch {
    throw refused(
      pem === null
        ? `${root} is no trusted root of Sigstore`
        : `${key} is no public key in PEM, or ${root ?? 'the trusted root'} cannot be parsed`,
    );
  }
}

function linesOf({ name, verified, fault }: ArtefactVerdict): string[] {
  if (fault !== null) return [`FAILED  ${name}: ${fault}\n`];
  if (verified.length === 0) return [`ok      ${name}: signed, all files listed and unchanged\n`];
  return verified.map(({ name: title, sha256, build, components }) => {
    const { version, commit, builder } = build;
    return (
      `ok      ${title}: sha256 ${sha256}, signed, version ${version} of commit ${commit}` +
      ` built by ${builder}, SBOM of ${components} components\n`
    );
  });
}
