/** Creates certificates for tests with openssl: authorities, names and any dates. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface IssuedCertificate {
  readonly certPath: string;
  readonly keyPath: string;
  readonly cert: string;
  readonly key: string;
}

interface IssueOptions {
  readonly name: string;
  /** For example `DNS:localhost,IP:127.0.0.1`. */
  readonly altNames?: string;
  /** Days from now, negative for the past. */
  readonly fromDays?: number;
  readonly untilDays?: number;
}

export interface Authority {
  readonly certPath: string;
  readonly cert: string;
  issue(options: IssueOptions): IssuedCertificate;
}

export interface Pki extends Disposable {
  readonly directory: string;
  authority(name: string, days?: { fromDays?: number; untilDays?: number }): Authority;
}

const dayMs = 86_400_000;

/** Creates a folder for certificates, which is deleted on disposal. */
export function createPki(): Pki {
  const directory = mkdtempSync(join(tmpdir(), 'gatewright-pki-'));
  return {
    directory,
    authority: (name, days) => createAuthority(directory, name, days ?? {}),
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  };
}

function createAuthority(
  parent: string,
  name: string,
  days: { fromDays?: number; untilDays?: number },
): Authority {
  const directory = join(parent, name);
  mkdirSync(directory);
  writeFileSync(join(directory, 'index.txt'), '');
  writeFileSync(join(directory, 'serial'), '1000\n');
  const configPath = join(directory, 'ca.cnf');
  writeFileSync(configPath, configuration(directory));
  const root = request(directory, `${name} authority`, 'ca');
  const certPath = join(directory, 'ca.pem');
  sign(configPath, [
    '-selfsign',
    '-extensions',
    'authority',
    '-keyfile',
    root.keyPath,
    '-in',
    root.requestPath,
    '-out',
    certPath,
    ...dates(days),
  ]);
  return {
    certPath,
    cert: readFileSync(certPath, 'utf8'),
    issue: ({ name: leafName, altNames, ...leafDays }) => {
      const leaf = request(directory, leafName, leafName.replaceAll(/\W/g, '_'));
      const extensionsPath = `${leaf.keyPath}.ext`;
      const extensions = altNames === undefined ? '' : `subjectAltName=${altNames}\n`;
      writeFileSync(extensionsPath, `basicConstraints=CA:FALSE\n${extensions}`);
      const leafPath = leaf.keyPath.replace(/-key\.pem$/, '-cert.pem');
      sign(configPath, [
        '-cert',
        certPath,
        '-keyfile',
        root.keyPath,
        '-extfile',
        extensionsPath,
        '-in',
        leaf.requestPath,
        '-out',
        leafPath,
        ...dates(leafDays),
      ]);
      return {
        certPath: leafPath,
        keyPath: leaf.keyPath,
        cert: readFileSync(leafPath, 'utf8'),
        key: readFileSync(leaf.keyPath, 'utf8'),
      };
    },
  };
}

function configuration(directory: string): string {
  return `
[ca]
default_ca = test
[test]
dir = ${directory}
database = ${directory}/index.txt
new_certs_dir = ${directory}
serial = ${directory}/serial
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = keyCertSign,cRLSign
subjectKeyIdentifier = hash
`;
}

function request(directory: string, commonName: string, fileName: string) {
  const keyPath = join(directory, `${fileName}-key.pem`);
  const requestPath = join(directory, `${fileName}.csr`);
  openssl([
    'req',
    '-new',
    '-nodes',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-subj',
    `/CN=${commonName}`,
    '-keyout',
    keyPath,
    '-out',
    requestPath,
  ]);
  return { keyPath, requestPath };
}

/** `openssl ca` is the only subcommand that accepts arbitrary dates. */
function sign(configPath: string, options: string[]): void {
  openssl(['ca', '-config', configPath, '-batch', '-notext', ...options]);
}

function dates({ fromDays = -1, untilDays = 365 }: { fromDays?: number; untilDays?: number }) {
  const format = (days: number): string =>
    `${new Date(Date.now() + days * dayMs).toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`;
  return ['-startdate', format(fromDays), '-enddate', format(untilDays)];
}

function openssl(options: string[]): void {
  execFileSync('openssl', options, { stdio: ['ignore', 'ignore', 'pipe'] });
}
