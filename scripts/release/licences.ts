/** Lists the licences of everything that the program contains, with their texts. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Sbom, SbomComponent } from './sbom.ts';

/** In the npm package, and in the image below `/opt/gatewright`. */
export const licencesFile = 'THIRD-PARTY-LICENSES.md';

const textFiles = /^(?:un)?licen[cs]e|^copying|^notice/i;

/** Data that is in the program and has a licence of its own. */
const data = [
  {
    title: 'lid.176.ftz, the language model of fastText',
    licence: 'CC-BY-SA-3.0',
    text: 'By Facebook, Inc.; https://fasttext.cc/docs/en/language-identification.html',
  },
];

/**
 * Returns the list as Markdown. `root` is the folder with `node_modules`.
 *
 * @throws Error that names the packages whose licence is unknown
 */
export function listLicences(bom: Sbom, root: string): string {
  const unknown = bom.components.filter((one) => licenceNames(one) === '').map(titleOf);
  if (unknown.length > 0) {
    throw new Error(`packages with an unknown licence: ${unknown.join(', ')}`);
  }
  const packages = bom.components.map((one) => ({
    title: titleOf(one),
    licence: licenceNames(one),
    text: licenceTexts(one, root),
  }));
  const rules = readFileSync(join(root, 'scripts/secret-rules/LICENSE'), 'utf8');
  const secretRules = { title: 'rules for secrets of gitleaks', licence: 'MIT', text: rules };
  const all = [...packages, secretRules, ...data].sort((a, b) => (a.title < b.title ? -1 : 1));
  const sections = all.map(
    ({ title, licence, text }) => `## ${title}\n\nLicence: ${licence}\n\n${fenced(text)}`,
  );
  const rows = all.map(({ title, licence }) => `| ${title} | ${licence} |`);
  return [
    '# Third-party licences',
    '',
    `gatewright contains parts of these ${all.length} works, or npm installs them with it.`,
    '',
    '| work | licence |',
    '|---|---|',
    ...rows,
    '',
    sections.join('\n'),
  ].join('\n');
}

function titleOf({ group, name, version }: SbomComponent): string {
  return `${group === undefined ? '' : `${group}/`}${name} ${version ?? ''}`.trim();
}

/** Empty when no licence is declared. */
function licenceNames({ licenses = [] }: SbomComponent): string {
  const names = licenses.map((one) => {
    if ('expression' in one) return one.expression;
    return 'id' in one.license ? one.license.id : one.license.name;
  });
  return names.filter((name) => !/^(?:UNLICENSED|UNKNOWN|SEE LICEN[CS]E)/i.test(name)).join(', ');
}

/** Packages for other platforms are not installed and have no text here. */
function licenceTexts({ properties = [], ...component }: SbomComponent, root: string): string {
  const path = properties.find(({ name }) => name === 'cdx:npm:package:path')?.value;
  const folder = join(root, path ?? `node_modules/${titleOf(component).split(' ')[0]}`);
  if (!existsSync(folder)) return '';
  return readdirSync(folder)
    .filter((name) => textFiles.test(name) && !/\.(?:[cm]?[jt]s|json)$/.test(name))
    .sort()
    .map((name) => readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n').trim())
    .join('\n\n');
}

function fenced(text: string): string {
  return text === '' ? 'The package contains no text.\n' : `~~~text\n${text.trim()}\n~~~\n`;
}
