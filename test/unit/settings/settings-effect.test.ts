/**
 * Checks that every setting changes something that the program reads, or is listed as not yet
 * effective.
 */
import { generateKeyPairSync } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseSync } from 'rolldown/utils';
import { describe, expect, it } from 'vitest';
import {
  describeSetting,
  type SettingName,
  settingNames,
  settingsSchema,
} from '../../../src/settings/variables/variables.ts';
import { inspectSettings } from '../../../src/settings.ts';

const root = resolve(import.meta.dirname, '../../../src');

/**
 * A deployment with as many settings as possible, and a misspelt name that strict mode turns into a
 * fault.
 */
const base: Record<string, string> = {
  DB_HOST: 'db.example',
  DB_USER: 'u',
  DB_NAME: 'n',
  DB_READER_HOST: 'replica.example',
  MYSQL_WRITER_HADR_MODE: 'ON',
  HTTPS_PROXY: 'http://proxy.example:3128',
  SMTP_HOST: 'smtp.example',
  SMTP_FROM: 'gatewright@example.com',
  GATEWRIGHT_JWT_JWKS_URIS: 'https://login.example/keys',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'https://otlp.example',
  OTEL_TRACES_SAMPLER: 'traceidratio',
  GATEWRIGHT_BLOB_S3_BUCKET: 'files',
  AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://127.0.0.1:1/agent',
  AZURE_FEDERATED_TOKEN_FILE: '/token',
  AZURE_TENANT_ID: 'contoso.example',
  AZURE_CLIENT_ID: 'application',
  GATEWRIGHT_LINK_PORT: '8443',
  GATEWRIGHT_TURBO: 'slip',
};
const pem = '-----BEGIN X-----\nAA==\n-----END X-----';
const ageKey = `AGE-SECRET-KEY-1${'Q'.repeat(58)}`;
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const candidates = [
  JSON.stringify(privateKey.export({ format: 'jwk' })),
  'ON',
  'OFF',
  '7',
  'other',
  pem,
  ageKey,
  'mysql://other.example/m',
  'a'.repeat(43),
  'x-team=red',
  'always_off',
  '0.5',
];

/** All that a run derives from an environment except warnings, as text. */
function outcome(env: Record<string, string>): string {
  const { settings, faults } = inspectSettings(env, { cwd: '/nonexistent', now: 0 });
  return JSON.stringify({ ...settings, warnings: [], faults });
}

/** Whether any valid value of the setting changes the derived settings. */
function changesSomething(name: SettingName): boolean {
  const values = [describeSetting(name).example, ...candidates].filter(
    (text) => !text.startsWith('/run/') && settingsSchema.shape[name].safeParse(text).success,
  );
  const { [name]: _, ...without } = base;
  return values.some((text) => outcome({ ...base, [name]: text }) !== outcome(without));
}

/** Names of the properties that hold a value, including nested ones. */
function leavesOf(value: object): string[] {
  return Object.entries(value).flatMap(([key, inner]) => {
    const isGroup = typeof inner === 'object' && inner !== null && isPlain(inner);
    return isGroup ? leavesOf(inner) : [key];
  });
}

function isPlain(value: object): boolean {
  return Object.getPrototypeOf(value) === Object.prototype;
}

/**
 * Every property that a source file reads: `a.name`, `{ name } = a`, or by its name in a string.
 */
function propertiesReadIn(file: string): Set<string> {
  const found = new Set<string>();
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { type, value, property, properties } = node as {
      type?: string;
      value?: unknown;
      property?: { name?: string };
      properties?: readonly { key?: { name?: string } }[];
    };
    if (type === 'MemberExpression' && property?.name !== undefined) found.add(property.name);
    if (type === 'Literal' && typeof value === 'string') found.add(value);
    if (type === 'ObjectPattern') {
      for (const one of properties ?? []) if (one.key?.name !== undefined) found.add(one.key.name);
    }
    for (const child of Object.values(node)) visit(child);
  };
  visit(parseSync(file, readFileSync(file, 'utf8')).program);
  return found;
}

/** Files that receive settings rather than parse them. */
const files = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => join(entry.parentPath, entry.name))
  .filter((file) => !/^settings\b/.test(relative(root, file)));

describe('a setting', () => {
  it.each(settingNames)(
    '%s changes the derived settings, or is documented as not yet effective',
    (name) => {
      expect({ name, effective: changesSomething(name) }).toEqual({
        name,
        effective: describeSetting(name).effective,
      });
    },
  );

  it('affects the program when it is documented as effective', () => {
    const read = new Set(files.flatMap((file) => [...propertiesReadIn(file)]));
    const { features: _, ...settings } = inspectSettings(base, { cwd: '/nonexistent' }).settings;
    expect(leavesOf(settings).filter((leaf) => !read.has(leaf))).toEqual([]);
  });

  it('names the routes, jobs or writers that it turns off', () => {
    const texts = files.map((file) => readFileSync(file, 'utf8'));
    const features = Object.keys(inspectSettings({}, { cwd: '/nonexistent' }).settings.features);
    const isNamed = (text: string, feature: string): boolean =>
      text.includes(`'${feature}'`) || text.includes(`features.${feature}`);
    const idle = features.filter((feature) => !texts.some((text) => isNamed(text, feature)));
    expect(idle).toEqual([]);
  });
});
