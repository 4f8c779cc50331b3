/** Checks that sops-encrypted files are decrypted completely or rejected, and never printed. */
import { describe, expect, it } from 'vitest';
import { formatFile } from '../../../../src/sync/authoring/format.ts';
import type { DesiredResult } from '../../../../src/sync/desired/desired.ts';
import { placesOf, readTexts, resourcesOf } from '../../../support/sync/manifests.ts';
import { canary, sopsFile, testIdentity } from '../../../support/sync/sops-files.ts';

const own = { ageIdentities: testIdentity('') };

function integration(headers: string): string {
  return `apiVersion: gatewright.dev/v1
kind: McpIntegration
metadata: {name: crm}
spec:
  slug: crm
  url: https://crm.example.com/mcp
  transport: http
  auth_type: headers
  configurations: {headers: ${headers}}
`;
}

/** A manifest that names one value of `secrets.sops.yaml`. */
function naming(key: string, more = ''): string {
  return integration(`{X-A: {valueFrom: {sops: {file: secrets.sops.yaml, key: '${key}'}${more}}}}`);
}

/** The headers of the only resource with headers. */
function headersOf(desired: DesiredResult): Record<string, string> {
  const entries = resourcesOf(desired).flatMap(({ secrets }) => [...secrets]);
  return Object.fromEntries(
    entries.map(([pointer, secret]) => [pointer.split('/').at(-1)!, secret.reveal()]),
  );
}

function reportedOf(desired: DesiredResult): string {
  return (desired.faults ?? []).map(({ message, fix }) => `${message} | ${fix}`).join('\n');
}

async function readKey(key: string, text = sopsFile('values.sops.yaml')): Promise<string> {
  const texts = { 'crm.yaml': naming(key), 'secrets.sops.yaml': text };
  return headersOf(await readTexts(texts, own))['X-A']!;
}

describe('a value in a file of the real sops', () => {
  it.each([
    ['crm.token', canary],
    ['zeta', 'last first'],
    ['["10"]', 'ten'],
    ['crm.pin', '12345'],
    ['crm.big', '9007199254740993'],
    ['crm.negative', '-7'],
    ['crm.ratio', '1234.56789'],
    ['crm.huge', '1000000000000000000000000000000'],
    ['crm.isOn', 'true'],
    ['crm.yes', 'yes'],
    ['crm["a.b"]', 'dotted'],
    ['crm.day', '2001-12-14T00:00:00Z'],
  ])('is decrypted as written: %s', async (key, value) => {
    expect(await readKey(key)).toBe(value);
  });

  it('is read from JSON, where tabs and numbers count towards the MAC as in sops', async () => {
    const text = sopsFile('values.sops.json');
    expect(text).toContain('\t');
    const manifest = integration(
      '{X-A: {valueFrom: {sops: {file: values.sops.json, key: crm.token}, prefix: "Bearer "}}}',
    );
    const desired = await readTexts({ 'crm.yaml': manifest, 'values.sops.json': text }, own);
    expect(headersOf(desired)).toEqual({ 'X-A': `Bearer ${canary}` });
  });

  it('is decrypted with several recipients, and with a post-quantum key', async () => {
    expect(await readKey('token', sopsFile('several.sops.yaml'))).toBe(canary);
    const texts = {
      'crm.yaml': naming('token'),
      'secrets.sops.yaml': sopsFile('hybrid.sops.yaml'),
    };
    const options = { ageIdentities: testIdentity('-hybrid') };
    expect(headersOf(await readTexts(texts, options))).toEqual({ 'X-A': canary });
  });

  it('is named relative to the manifest; its origin is relative to the source', async () => {
    const manifest = integration(
      '{X-A: {valueFrom: {sops: {file: ../shared/secrets.sops.yaml, key: token}}}}',
    );
    const desired = await readTexts(
      {
        'team/crm.yaml': manifest,
        'shared/secrets.sops.yaml': sopsFile('several.sops.yaml'),
      },
      own,
    );
    const [resource] = resourcesOf(desired);
    expect(headersOf(desired)).toEqual({ 'X-A': canary });
    expect(JSON.stringify(resource?.spec)).toContain('sops:shared/secrets.sops.yaml#token');
    expect(JSON.stringify(resource)).not.toContain(canary);
  });

  it('changes the version of the source through its own file, without a change of the manifest', async () => {
    const digest = async (name: string): Promise<string | undefined> => {
      const texts = { 'crm.yaml': naming('token'), 'secrets.sops.yaml': sopsFile(name) };
      return (await readTexts(texts, own)).set?.source.digest;
    };
    expect(await digest('several.sops.yaml')).not.toBe(await digest('mac-only.sops.yaml'));
  });

  it('requires no identity in a check, but an existing file and key', async () => {
    const closed = { requireSecrets: false };
    const text = sopsFile('values.sops.yaml');
    const right = { 'crm.yaml': naming('crm.token'), 'secrets.sops.yaml': text };
    expect((await readTexts(right, closed)).faults).toBeUndefined();
    const wrong = await readTexts({ ...right, 'crm.yaml': naming('crm.tokn') }, closed);
    expect(reportedOf(wrong)).toContain('secrets.sops.yaml has no value crm.tokn');
    expect(reportedOf(wrong)).toContain('did you mean "token"?');
  });
});

/** Replacements in an encrypted file, and the resulting message. */
const damages: readonly (readonly [string, (text: string) => string, string])[] = [
  [
    'a plain value was changed by hand',
    (text) => text.replace('https://crm.example.com', 'https://evil.example.com'),
    'the MAC does not match',
  ],
  [
    'a plain number was changed by hand',
    (text) => text.replace('float_unencrypted: 1e+06', 'float_unencrypted: 1e+05'),
    'the MAC does not match',
  ],
  [
    'two values changed their order',
    (text) => text.replace(/^("10": .*)\n("9": .*)\n/m, '$2\n$1\n'),
    'the MAC does not match',
  ],
  ['a value was removed', (text) => text.replace(/^ {4}pin: .*\n/m, ''), 'the MAC does not match'],
  [
    'a value was moved to another key',
    (text) => text.replace('    pin: ENC', '    pon: ENC'),
    'crm.pon was changed, or moved from another place',
  ],
  [
    'the text of a value was changed',
    (text) =>
      text.replace(/(token: ENC\[AES256_GCM,data:)(.)/, (_, head, one) => head + other(one)),
    'crm.token was changed',
  ],
  [
    'a tag was cut',
    (text) => text.replace(/(token: ENC.*?,tag:)[^,]*/, '$1Zm9v'),
    'crm.token is not encrypted, although the rule of the file requires it',
  ],
  [
    'a secret was added by hand',
    (text) => text.replace(/^ {4}token: .*$/m, '    token: plain-by-mistake'),
    'crm.token is not encrypted, although the rule of the file requires it',
  ],
  [
    'the modification time was changed',
    (text) => text.replace(/lastmodified: "20/, 'lastmodified: "19'),
    'the MAC does not match',
  ],
  [
    'the MAC was removed',
    (text) => text.replace(/mac: ENC\[.*\]/, 'mac: ""'),
    'sops.mac is not a valid MAC',
  ],
  [
    'the encrypted data key was damaged',
    (text) =>
      text.replace(
        /(BEGIN AGE ENCRYPTED FILE-----\s+\S{8})(.)/,
        (_, head, one) => head + other(one),
      ),
    'the key that it holds for age1',
  ],
  [
    'the sops metadata has another form',
    (text) =>
      text.replace(/^ {4}age:[\s\S]*?^ {4}lastmodified/m, '    age: text\n    lastmodified'),
    'sops.age is not valid sops metadata',
  ],
];

function other(character: string): string {
  return character === 'A' ? 'B' : 'A';
}

describe('an encrypted file', () => {
  it.each(damages)('rejects a file where %s', async (_, damage, message) => {
    const whole = sopsFile('values.sops.yaml');
    const text = damage(whole);
    expect(text).not.toBe(whole);
    const texts = { 'crm.yaml': naming('zeta'), 'secrets.sops.yaml': text };
    const desired = await readTexts(texts, own);
    expect(placesOf(desired)).toHaveLength(1);
    expect(placesOf(desired)[0]).toMatch(/^crm\.yaml:9:\d+ sops-/);
    expect(reportedOf(desired)).toContain(message);
    expect(reportedOf(desired)).not.toMatch(/canary|AGE-SECRET|plain-by-mistake/);
  });

  it('names both recipients for another recipient’s file, never an identity', async () => {
    const texts = { 'crm.yaml': naming('token'), 'secrets.sops.yaml': sopsFile('other.sops.yaml') };
    const reported = reportedOf(await readTexts(texts, own));
    expect(reported).toMatch(
      /it is encrypted for age1\w+; the identities at hand are those of age1\w+/,
    );
    expect(reported).toContain('sops updatekeys');
    expect(reported).not.toContain('AGE-SECRET-KEY');
  });

  it('names the setting and the recipients when there is no identity', async () => {
    const texts = { 'crm.yaml': naming('token'), 'secrets.sops.yaml': sopsFile('other.sops.yaml') };
    const desired = await readTexts(texts);
    expect(placesOf(desired)).toEqual(['crm.yaml:9:35 secret-missing']);
    expect(reportedOf(desired)).toMatch(
      /set GATEWRIGHT_AGE_KEY_FILE to a file with an identity of age1/,
    );
  });

  it.each([
    ['pgp', 'it is encrypted for pgp; only age is supported'],
    ['hc_vault', 'it is encrypted for hc_vault; only age is supported'],
  ])('names the unsupported key service when %s is the only one', async (name, message) => {
    const text = sopsFile('other.sops.yaml').replace('    age:', `    ${name}:`);
    const texts = { 'crm.yaml': naming('token'), 'secrets.sops.yaml': text };
    expect(reportedOf(await readTexts(texts, own))).toContain(message);
  });

  it('rejects groups of recipients, and rules by comments', async () => {
    const groups = sopsFile('groups.sops.yaml');
    const texts = { 'crm.yaml': naming('token'), 'secrets.sops.yaml': groups };
    expect(reportedOf(await readTexts(texts, own))).toContain('split among several groups');
    const commented = sopsFile('other.sops.yaml').replace(
      'unencrypted_suffix: _unencrypted',
      'encrypted_comment_regex: secret',
    );
    const reported = reportedOf(await readTexts({ ...texts, 'secrets.sops.yaml': commented }, own));
    expect(reported).toContain('encrypted_comment_regex selects the encrypted values by comments');
  });

  it('rejects a hostile file size before a key is tried', async () => {
    const text = sopsFile('other.sops.yaml').replace(
      /enc: \|\n/,
      `$&${' '.repeat(12)}${'A'.repeat(9_000)}\n`,
    );
    const texts = { 'crm.yaml': naming('token'), 'secrets.sops.yaml': text };
    expect(reportedOf(await readTexts(texts, own))).toContain(
      'sops.age is larger than any that sops writes',
    );
  });
});

describe('a MAC over encrypted values only', () => {
  it('leaves plain values free to change, and nothing else', async () => {
    const text = sopsFile('mac-only.sops.yaml');
    expect(await readKey('token', text.replace('free to change', 'changed'))).toBe(canary);
    const counted = text.replace('mac_only_encrypted: true', 'mac_only_encrypted: false');
    const texts = { 'crm.yaml': naming('token'), 'secrets.sops.yaml': counted };
    expect(reportedOf(await readTexts(texts, own))).toContain('the MAC does not match');
  });
});

describe('a valueFrom.sops reference', () => {
  const text = sopsFile('values.sops.yaml');
  it.each([
    ['nowhere', naming('crm.nothing_at_all'), 'secrets.sops.yaml has no value crm.nothing_at_all'],
    ['to a map', naming('crm'), 'crm of secrets.sops.yaml is not a single value'],
    [
      'to a plain value',
      naming('crm.url_unencrypted'),
      'crm.url_unencrypted of secrets.sops.yaml is not encrypted',
    ],
    ['to an empty value', naming('crm.empty'), 'crm.empty of secrets.sops.yaml is not encrypted'],
    ['to the sops metadata', naming('sops.mac'), 'secrets.sops.yaml has no value sops'],
    [
      'to a missing file',
      naming('crm.token').replace('secrets.sops', 'secret.sops'),
      'the source has no file secret.sops.yaml',
    ],
    [
      'outside of the source',
      naming('crm.token').replace('secrets.sops', '../../etc/x'),
      'the source has no file ../../etc/x.yaml',
    ],
    [
      'into a file that is not encrypted',
      naming('crm.token').replace('secrets.sops', 'crm'),
      'crm.yaml is not encrypted by sops',
    ],
    [
      'through a key that is not a path',
      naming('crm..token'),
      'valueFrom.sops.key must be the path of a value',
    ],
  ])('rejects a reference that leads %s', async (_, manifest, message) => {
    const desired = await readTexts({ 'crm.yaml': manifest, 'secrets.sops.yaml': text }, own);
    expect(placesOf(desired)).toHaveLength(1);
    expect(reportedOf(desired)).toContain(message);
  });

  it.each([
    ['an unknown field', '{file: a.yaml, key: b, format: yaml}', 'sops has no field "format"'],
    ['no key', '{file: a.yaml}', 'sops.key is required'],
    ['text', 'a.yaml', 'sops must be a map'],
    ['nothing', 'null', 'sops must be a map'],
  ])('rejects a reference given by %s', async (_, sops, message) => {
    const manifest = integration(`{X-A: {valueFrom: {sops: ${sops}}}}`);
    expect(reportedOf(await readTexts({ 'crm.yaml': manifest }, own))).toContain(message);
  });

  it('keeps the server’s value where it is optional and missing, or no identity fits', async () => {
    const texts = {
      'crm.yaml': naming('crm.later', ', optional: true'),
      'secrets.sops.yaml': text,
    };
    expect(headersOf(await readTexts(texts, own))).toEqual({});
    const there = { ...texts, 'crm.yaml': naming('crm.token', ', optional: true') };
    expect(headersOf(await readTexts(there))).toEqual({});
    expect(headersOf(await readTexts(there, own))).toEqual({ 'X-A': canary });
  });

  it('is a fault where it is optional and the file is damaged', async () => {
    const damaged = text.replace('https://crm', 'https://evil');
    const manifest = naming('crm.token', ', optional: true');
    const desired = await readTexts({ 'crm.yaml': manifest, 'secrets.sops.yaml': damaged }, own);
    expect(reportedOf(desired)).toContain('the MAC does not match');
  });
});

describe('a manifest that sops has encrypted', () => {
  it('is decrypted, in a file of several and in a List of JSON', async () => {
    const desired = await readTexts({ 'crm.sops.yaml': sopsFile('crm.sops.yaml') }, own);
    expect(resourcesOf(desired).map(({ identity }) => identity.name)).toEqual(['crm', 'support']);
    expect(headersOf(desired)).toEqual({ Authorization: `Bearer ${canary}`, 'X-Pin': '12345' });
    const list = await readTexts({ 'list.sops.json': sopsFile('list.sops.json') }, own);
    expect(headersOf(list)).toEqual({ Authorization: `Bearer ${canary}` });
    expect(JSON.stringify([resourcesOf(desired), resourcesOf(list)])).not.toContain(canary);
  });

  it('is validated without an identity, and applied with one only', async () => {
    const texts = { 'crm.sops.yaml': sopsFile('crm.sops.yaml') };
    expect((await readTexts(texts, { requireSecrets: false })).faults).toBeUndefined();
    const desired = await readTexts(texts);
    expect(placesOf(desired)).toEqual(['crm.sops.yaml:5:1 secret-missing']);
    expect(reportedOf(desired)).toContain('no age identity is available');
  });

  it('verifies its plain fields, too, so that a secret is sent to no other address', async () => {
    const text = sopsFile('crm.sops.yaml').replace('crm.example.com', 'evil.example.com');
    const desired = await readTexts({ 'crm.sops.yaml': text }, own);
    expect(placesOf(desired)).toEqual(['crm.sops.yaml:5:1 sops-mac']);
  });

  it('rejects values whose sops metadata is missing', async () => {
    const text = sopsFile('crm.sops.yaml').replaceAll(/^sops:\n(?: .*\n)*/gm, '');
    const desired = await readTexts({ 'crm.sops.yaml': text }, own);
    expect(placesOf(desired)).toEqual([
      'crm.sops.yaml:19:28 sops-bare',
      'crm.sops.yaml:20:20 sops-bare',
    ]);
  });

  it('rejects an encrypted header of the declaration', async () => {
    const reported = await readTexts({ 'whole.sops.yaml': sopsFile('whole.sops.yaml') }, own);
    expect(placesOf(reported)).toEqual(['whole.sops.yaml:1:13 sealed-field']);
    expect(reportedOf(reported)).toContain(
      'apiVersion is encrypted, so it is unclear what this declares',
    );
    expect(reportedOf(reported)).toContain('--encrypted-regex');
    const named = await readTexts({ 'wide.sops.yaml': sopsFile('wide.sops.yaml') }, own);
    expect(reportedOf(named)).toContain('metadata.name is encrypted');
  });

  it('rejects encrypted fields that plans and servers show', async () => {
    const text = sopsFile('wide.sops.yaml');
    const name = /^ {4}name: .*$/m.exec(text)![0];
    const plain = text.replace(name, '    name: crm').replace('^(url|name|', '^(url|');
    const desired = await readTexts({ 'wide.sops.yaml': plain }, { requireSecrets: false });
    expect(placesOf(desired)).toEqual(['wide.sops.yaml:7:10 sealed-field']);
    expect(reportedOf(desired)).toContain('spec.url is encrypted, but is not a secret field');
    expect(reportedOf(desired)).toContain('spec.configurations.headers.*');
  });
});

describe('the formatter', () => {
  it('leaves sops-encrypted files unchanged, because the MAC depends on order and keys', () => {
    const content = Buffer.from(sopsFile('crm.sops.yaml'));
    expect(formatFile({ path: 'crm.sops.yaml', content })).toEqual({ refusal: null });
  });
});

describe('sops files for other programs', () => {
  const secret = (text: string): string =>
    `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata:\n${text.replaceAll(/^(?=.)/gm, '  ')}`;

  it('skips them without decrypting', async () => {
    const text = sopsFile('other.sops.yaml');
    const [values = '', sops = ''] = text.split(/^(?=sops:)/m);
    const texts = { 'secret.yaml': `${secret(values)}${sops}`, 'free.sops.yaml': text };
    const desired = await readTexts(texts, own);
    expect(resourcesOf(desired)).toEqual([]);
    expect(desired.set?.leftAlone.foreignFiles).toEqual(['secret.yaml']);
  });
});
