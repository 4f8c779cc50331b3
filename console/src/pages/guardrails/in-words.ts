/** Says in words what the checks and actions of a guardrail are. */
import type { BodyOf } from '../../api/client.ts';

type Guardrail = BodyOf<'/v1/guardrails/{guardrailId}'>;
export type Check = Guardrail['checks'][number];

const itemsMax = 20;
const charactersMax = 300;

/** Each parameter as one phrase: "at most 100 words", "operator: none of them". */
export function parametersInWords({ parameters = {} }: Check): readonly string[] {
  return Object.entries(parameters).map(([name, value]) => phraseOf(name, value));
}

const quantifiers: Readonly<Record<string, string>> = {
  any: 'at least one of them',
  all: 'all of them',
  none: 'none of them',
};

function phraseOf(name: string, value: unknown): string {
  const words = name.replaceAll(/([a-z\d])([A-Z])/g, '$1 $2').toLowerCase();
  if (name === 'not')
    return value === true ? 'inverted: passes where the check would fail' : 'not inverted';
  if (name === 'operator' && typeof value === 'string') return quantifiers[value] ?? value;
  if (typeof value === 'boolean') return `${words}: ${value ? 'yes' : 'no'}`;
  if (typeof value === 'number' && words.startsWith('min '))
    return `at least ${value} ${words.slice(4)}`;
  if (typeof value === 'number' && words.startsWith('max '))
    return `at most ${value} ${words.slice(4)}`;
  return `${words}: ${textOf(value)}`;
}

/** Long values are cut; the record below has them whole. */
function textOf(value: unknown): string {
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) {
    const more = value.length - itemsMax;
    return cut(value.slice(0, itemsMax).join(', ')) + (more > 0 ? ` and ${more} more` : '');
  }
  return cut(typeof value === 'string' ? value : JSON.stringify(value));
}

function cut(text: string): string {
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;
}

export function actionsInWords({ actions, target }: Guardrail): readonly string[] {
  const subject = target === 'llm' ? 'requests and responses' : 'tool calls and their results';
  const isAsync = actions.async === true;
  return [
    consequenceInWords(actions, subject),
    isAsync ? 'Runs beside the request, which does not wait for it.' : '',
    actions.sequential === true ? 'Runs its checks one after the other.' : '',
    actions.fail_closed === true ? 'A check that cannot run counts as failed.' : '',
    actions.on_unsupported === 'pass' ? 'Passes what its checks cannot judge.' : '',
    actions.scan_scope === 'all_messages' ? 'Judges all messages.' : '',
    feedbackInWords('passes', actions.on_success),
    feedbackInWords('fails', actions.on_fail),
  ].filter((sentence) => sentence !== '');
}

function consequenceInWords(actions: Guardrail['actions'], subject: string): string {
  if (actions.mode === 'monitor') {
    return 'Only observes: what its checks find is recorded, and nothing is rejected or changed.';
  }
  return actions.deny === true && actions.async !== true
    ? `Rejects ${subject} that fail.`
    : `Lets ${subject} that fail through, and records the verdict.`;
}

function feedbackInWords(when: string, consequence: Guardrail['actions']['on_fail']): string {
  const value = consequence?.feedback?.value;
  return value === undefined ? '' : `Records feedback of ${value} when a request ${when}.`;
}
