/** Fuzzes the reader of manifests: it reports faults and never throws, and reads JSON as JSON.parse does. */
import { readDocuments } from '../../../../src/sync/yaml/yaml-document.ts';
import { type ParserTarget, requireEqual } from '../parser-target.ts';

const read = (content: Buffer) => readDocuments({ path: 'a.yaml', content }, () => false);

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const yamlTarget: ParserTarget = {
  name: 'yaml',
  sources: /\/src\/sync\/yaml\/|\/js-yaml\//,
  dictionary: [
    'apiVersion: gatewright.dev/v1\n',
    'kind: Config\n',
    'metadata:\n  name: a\n',
    'spec: {}\n',
    '---\n',
    '...\n',
    '%YAML 1.2\n',
    '&a ',
    '*a',
    '<<: *a\n',
    '!!str ',
    '!!binary ',
    '!sops ',
    '? ',
    '- ',
    ': ',
    '|\n  ',
    '>-\n  ',
    '{',
    '}',
    '[',
    ']',
    '"',
    "'",
    '# ',
    '\t',
    '\r\n',
    '\n  ',
    '\n',
    '${a}',
    '0x1F',
    '1e400',
    '.inf',
    '~',
    '"\\u0041"',
    '\ufeff',
    '\u2028',
    '__proto__: 1\n',
  ],
  check: (input) => {
    const { documents, faults } = read(input);
    for (const { message, line, column } of faults.map(
      (fault) => ({ ...fault }) as never as FaultText,
    )) {
      if (message === '') throw new Error('a fault has no message');
      if (line !== undefined && line < 1) throw new Error(`a fault is in line ${line}`);
      if (column !== undefined && column < 1) throw new Error(`a fault is in column ${column}`);
    }
    if (faults.length > 0) return;
    const json = jsonOf(input.toString('utf8'));
    if (typeof json === 'object' && json !== null) {
      requireEqual('the document', documents[0]?.value, json);
    }
    for (const { value } of documents) {
      const text = JSON.stringify(value);
      if (text === undefined || typeof value !== 'object') continue;
      const again = read(Buffer.from(text));
      // Numbers beyond JSON become null, which manifests refuse in another place.
      if (again.faults.length > 0) continue;
      requireEqual('the document written as JSON', again.documents[0]?.value, JSON.parse(text));
    }
  },
};

interface FaultText {
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
}
