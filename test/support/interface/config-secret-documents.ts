/** Builds a valid config document for every path at which a config may contain a secret. */
import { configSecrets } from '../../../src/model/configs/config-secret-fields.ts';
import { levelsPart } from '../../../src/model/manifests/path-patterns.ts';

interface SecretDocument {
  readonly pattern: string;
  readonly document: Readonly<Record<string, unknown>>;
  /** Values of the secrets at the root, in a target and in a target of a target. */
  readonly canaries: readonly string[];
}

/** Lists, whose items have numbers as keys. */
const lists = new Set([
  'before_request_hooks',
  'after_request_hooks',
  'input_guardrails',
  'output_guardrails',
  'checks',
  'tools',
  'mcp_servers',
]);

/** One document for each pattern, with the secret on three levels. */
export function secretDocuments(target: Readonly<Record<string, unknown>>): SecretDocument[] {
  return configSecrets.map((pattern, at) => {
    const canaries = [0, 1, 2].map((level) => `canary-${at}-${level}-end`);
    const [root, middle, leaf] = canaries.map((canary) => levelWith(pattern, canary));
    const document = { ...root, targets: [{ ...middle, targets: [{ ...target, ...leaf }] }] };
    return { pattern, document, canaries };
  });
}

/** A level with the secret at the place of the pattern. */
function levelWith(pattern: string, canary: string): Record<string, unknown> {
  const level: Record<string, unknown> = {};
  const keys = pattern.replace(`${levelsPart}.`, '').split('.');
  putAt(level, keys, canary);
  return level;
}

function putAt(
  holder: Record<string, unknown>,
  [key = '', ...rest]: readonly string[],
  canary: string,
): void {
  const [next] = rest;
  if (key === '**') {
    holder.deep = { deeper: { [next!]: canary } };
  } else if (next === undefined) {
    holder[key === '*' ? 'x-canary' : key] = canary;
  } else if (key === '*') {
    // A check that a guardrail contains directly, by its id.
    const check = { webhookURL: 'https://hooks.example.com/a' };
    holder['default.webhook'] = check;
    putAt(check, rest, canary);
  } else if (lists.has(key)) {
    const item: Record<string, unknown> = {};
    holder[key] = [item];
    putAt(item, rest.slice(1), canary);
    if (key === 'checks') {
      item.id = 'default.webhook';
      (item.parameters as Record<string, unknown>).webhookURL = 'https://hooks.example.com/a';
    }
  } else {
    const inner: Record<string, unknown> = {};
    holder[key] = inner;
    putAt(inner, rest, canary);
  }
}
