/** Knows small texts that readers of JSON, of queries and of paths stumble over. */

/** In place of one value of a body; the reader takes it as JSON, or says where it does not. */
export const hostileValues: Readonly<Record<string, string>> = {
  'a number beyond a double': '1e400',
  'minus zero': '-0',
  'a whole number that a double rounds': '9007199254740993',
  'a number of a thousand digits': '1'.repeat(1000),
  'a leading zero': '01',
  'no number': 'NaN',
  'half a pair': '"\\ud800"',
  'the other half': '"\\udc00\\ud800"',
  'a zero character': '"a\\u0000b"',
  'a raw control character': '"a\u0001b"',
  'text that is turned round': '"\u202ea\u2066"',
  'a line separator': '"\u2028"',
  'what SQL ends with': '"\' OR 1=1 -- "',
  'a path upwards': '"../../etc/passwd"',
  'a template': '"${jndi:ldap://a}{{7*7}}"',
  'the key of a prototype': '{"__proto__":{"a":1}}',
  'keys of every object': '{"constructor":{"prototype":{"a":1}},"toString":1,"hasOwnProperty":1}',
  'the same key twice': '{"a":1,"a":2}',
  'the same key in two spellings': '{"a":1,"\\u0061":2}',
  'an empty key': '{"":1}',
  'a long key': `{"${'k'.repeat(10_000)}":1}`,
  'lists without end': '['.repeat(5_000),
  'deep lists': `${'['.repeat(70)}${']'.repeat(70)}`,
  'deep maps': `${'{"a":'.repeat(70)}1${'}'.repeat(70)}`,
  'a list of much': `[${'0,'.repeat(99_999)}0]`,
  nothing: '',
};

/** In place of a whole body. */
export const hostileTexts: Readonly<Record<string, Buffer>> = {
  'a byte order mark': Buffer.from('\ufeff{}'),
  'invalid UTF-8': Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
  'a surrogate in UTF-8': Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]),
  'an overlong slash': Buffer.from([0x22, 0xc0, 0xaf, 0x22]),
  'UTF-16': Buffer.from('{"name":"a"}', 'utf16le'),
  'two values': Buffer.from('{}{}'),
  'an open map': Buffer.from('{"name":'),
  'a comment': Buffer.from('{}//'),
  'a comma too many': Buffer.from('{"name":"a",}'),
  'single quotes': Buffer.from("{'name':'a'}"),
  'nothing but blanks': Buffer.from(' \n\t'),
  null: Buffer.from('null'),
  'a list': Buffer.from('[]'),
  'a text': Buffer.from('"a"'),
  'a number': Buffer.from('0'),
  zeros: Buffer.alloc(100),
};

/** Headers with which no body is read. */
export const hostileTypes: readonly Readonly<Record<string, string>>[] = [
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/json; charset=utf-16' },
  { 'content-type': 'multipart/form-data; boundary=a' },
  { 'content-type': 'application/xml' },
  { 'content-type': 'application/jsonx' },
  { 'content-encoding': 'gzip' },
  { 'content-encoding': 'br' },
  { 'content-encoding': 'identity, gzip' },
];

/** Parts of a target, as they stand there. */
export const hostileParts: readonly string[] = [
  ...['%00', 'a%00b', '%0d%0aa:b', '%ED%A0%80', '%FF', '%C0%AF', '%zz', '%', '%2e%2e', '..', '%2F'],
  ...['__proto__', 'constructor', 'toString', 'null', 'undefined', '-1', '0', '1e400', 'NaN'],
  ...[
    '%F0%9F%98%80',
    '%E2%80%AE',
    "'%20OR%201=1--",
    '*',
    '%25',
    '%26',
    ';a=b',
    '(',
    'a'.repeat(1024),
  ],
  ...['a'.repeat(1025), 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF', '{}', '[]', ':id', '~', '%20'],
];
